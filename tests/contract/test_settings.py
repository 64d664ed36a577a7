"""docs/settings.md is what the code reads, and every setting says what it is."""

import re

from docs.generate_settings import SECTIONS, TARGET, render
from tests.contract.documents import ROOT

DECLARED = re.compile(r"^class (\w+)\([^)]*(?:Settings|Budgets)\b", re.MULTILINE)
CLIENT_SIDE = "orderctl"
"""Its settings are addresses, which `make up` writes into a file for it."""


def test_the_page_is_up_to_date() -> None:
    assert TARGET.read_text() == render(), "run: python -m docs.generate_settings"


def test_all_settings_of_services_are_on_the_page() -> None:
    files = {*ROOT.glob("services/*/settings.py")} - {ROOT / f"services/{CLIENT_SIDE}/settings.py"}
    declared = {name for file in files for name in DECLARED.findall(file.read_text())}
    assert declared == {one.__name__ for classes in SECTIONS.values() for one in classes}


def test_every_setting_says_what_it_is() -> None:
    for classes in SECTIONS.values():
        for one in classes:
            for name, field in one.model_fields.items():
                assert field.description and field.description.endswith("."), name
