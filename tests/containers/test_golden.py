"""The whole-saga tests that say most, against the containers: same timelines, one trace."""

from tests.saga.test_cases_traces import test_c62_one_trace_from_the_request_to_the_mail
from tests.saga.test_golden_timelines import (
    test_confirmed,
    test_customer_request_after_capture,
    test_customer_request_before_capture,
    test_needs_attention,
    test_out_of_stock,
    test_payment_declined,
    test_payment_timeout,
)

__all__ = [
    "test_c62_one_trace_from_the_request_to_the_mail",
    "test_confirmed",
    "test_customer_request_after_capture",
    "test_customer_request_before_capture",
    "test_needs_attention",
    "test_out_of_stock",
    "test_payment_declined",
    "test_payment_timeout",
]
