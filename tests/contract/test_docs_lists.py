"""The lists in the documentation are whole: every decision, every word."""

import re

from tests.contract.documents import ROOT

GLOSSARY = """
ack|at-least-once|attempt|backpressure|blocked|broker|bulkhead|capture|cdc|circuit breaker
command|compensation|consumer|consumer group|dead letter|decline|decoupling|ending|envelope|event
eventual consistency|fan-out|generation|head-of-line blocking|idempotent consumer|inbox|job|key
lag|lease|line|offset|order|ordering|outbox|p95|parked|partition|poison message|producer
projection|queue|read model|redrive|refund|relay|release|replay|replication|reservation|retention
saga|sla|topic|wal
"""


def test_every_decision_is_listed_once_and_in_order() -> None:
    folder = ROOT / "docs/decisions"
    files = sorted(path.name for path in folder.glob("*.md") if path.name != "README.md")
    listed = re.findall(r"^(\d+)\. \[(.+)\]\((.+)\)$", (folder / "README.md").read_text(), re.M)
    assert [name for _, _, name in listed] == files
    for number, title, name in listed:
        assert name.startswith(f"{int(number):04d}-")
        assert (folder / name).read_text().startswith(f"# {number}. {title}\n")


def test_the_glossary_has_every_word_twice_explained_and_sorted() -> None:
    text = (ROOT / "docs/glossary.md").read_text()
    entries = re.findall(r"^### (.+)\n\n(.+(?:\n.+)*)\n\n(.+(?:\n.+)*)$", text, re.MULTILINE)
    words = [word.lower() for word, _, _ in entries]
    assert words == sorted(words)
    assert len(words) == text.count("\n### ")
    assert set(re.split(r"[|\n]", GLOSSARY.strip())) <= set(words)
