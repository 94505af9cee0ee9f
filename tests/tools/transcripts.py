"""The transcripts in docs/answers.md: `make docs` executes their commands and writes what they print.

A transcript is between `<!-- transcript: COMMAND -->` and `<!-- end -->`. The commands run in `build/transcripts`,
which keeps the data and the store, so that finished runs are not repeated.
"""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from data_pipelines.support.files import write_whole
from tests.shop_chain import write_shop_chain

FOLDER = Path(__file__).parents[2] / "build" / "transcripts"
EXAMPLE = "purchases"
"""The generated example of `fedbandit new dataset`; its file is imported by the transcript's command."""

SHOP_CHAIN = "verkaeufe.csv"
"""The file of a chain of shops, messy in the usual ways."""

TRANSCRIPT = re.compile(r"(<!-- transcript: (?P<command>[^\n]+?) -->\n).*?(<!-- end -->)", re.DOTALL)


def renew_transcripts(page: Path, folder: Path = FOLDER) -> None:
    """Execute the commands of a page's transcripts; one that fails leaves the page as it is."""
    folder.mkdir(parents=True, exist_ok=True)
    _fedbandit(folder, "data", "online-retail", "movielens-1m")
    write_shop_chain(folder / SHOP_CHAIN)
    if not (folder / f"{EXAMPLE}.py").exists():
        _fedbandit(folder, "new", "dataset", EXAMPLE)
    _output(folder, sys.executable, f"{EXAMPLE}.py")
    commands = [shlex.split(match["command"])[1:] for match in TRANSCRIPT.finditer(page.read_text(encoding="utf-8"))]
    outputs = {tuple(words): _fedbandit(folder, *words) for words in commands}
    text = with_transcripts(page.read_text(encoding="utf-8"), lambda words: outputs[tuple(words)])
    write_whole(page, text.encode())


def with_transcripts(text: str, output_of: Callable[[list[str]], str]) -> str:
    """Return a text whose transcripts are replaced by the output of their commands, given without `fedbandit`."""

    def transcript(match: "re.Match[str]") -> str:
        _, *words = shlex.split(match["command"])
        return f"{match[1]}```text\n{output_of(words).strip()}\n```\n{match[3]}"

    return TRANSCRIPT.sub(transcript, text)


def _fedbandit(folder: Path, *words: str) -> str:
    return _output(folder, sys.executable, "-m", "benchmark", *words)


def _output(folder: Path, *command: str) -> str:
    """Return what a command prints on standard output, without colour and with paths relative to its folder."""
    environment = os.environ | {"FEDBANDIT_DATA": "data", "NO_COLOR": "1"}
    environment.pop("MLFLOW_TRACKING_URI", None)
    done = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"`{shlex.join(command)}` ended with exit code {done.returncode}")
    return done.stdout


if __name__ == "__main__":
    renew_transcripts(Path(__file__).parents[2] / "docs" / "answers.md")
