"""The transcripts of the documentation are outputs of commands, and nothing else."""

import re
import shlex

from tests.readme import DOCS
from tests.tools.transcripts import TRANSCRIPT, with_transcripts

PAGE = (DOCS / "answers.md").read_text(encoding="utf-8")


def test_a_transcript_is_replaced_by_the_output_of_its_command():
    text = "before\n<!-- transcript: fedbandit list 'a b' -->\nold\n<!-- end -->\nafter\n"
    commands: list[list[str]] = []

    def output(words: list[str]) -> str:
        commands.append(words)
        return "\nnew\n\n"

    changed = with_transcripts(text, output)
    assert changed == text.replace("old", "```text\nnew\n```")
    assert commands == [["list", "a b"]]
    assert with_transcripts(changed, output) == changed


def test_every_output_in_the_page_on_answers_is_a_transcript():
    assert "```text" not in TRANSCRIPT.sub("", PAGE)
    transcripts = {match["command"]: match.group() for match in TRANSCRIPT.finditer(PAGE)}
    assert [*transcripts] == [
        "fedbandit recommend purchases.csv --budget 10/client",
        "fedbandit recommend verkaeufe.csv --budget 3/client/day --user-column Filiale "
        "--value-column 'Preis*Menge' --skip-bad-rows --configurations 8",
        "fedbandit recommend online-retail --budget 10/client",
        "fedbandit recommend movielens-1m --budget 10/client --configurations 8",
    ]
    for command, transcript in transcripts.items():
        assert shlex.split(command) == shlex.split(transcript.partition("repeat   ")[2].partition("\npage ")[0])
        lines = [line for line in transcript.splitlines()[1:-1] if not line.startswith("repeat ")]
        assert max(map(len, lines)) <= 80


def test_online_retail_is_attributed_as_its_licence_asks():
    assert re.search(r"Chen, Sain and Guo \(2012\)", PAGE)
    assert "CC BY 4.0" in PAGE
