"""Submitted methods: the bundles in the folder `submissions`, and which of them this repository has verified."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated

from pydantic import Field

from benchmark.bundles.bundle import CARD, Bundle, Card, read_bundle
from benchmark.protocol import Count, load_protocol
from data_pipelines.stream_spec import Strict
from data_pipelines.support.messages import load_toml

FOLDER = Path(__file__).parents[2] / "submissions"
"""Part of the repository; an installed package has none."""

VERIFIED = "verified.toml"
MAX_BYTES = 1_000_000


class Verification(Strict):
    """Runs of a bundle were executed again, and all of them agreed."""

    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    """The hash of the file: any change of it, also of its card, needs a new verification."""

    runs: Count
    protocol: Count


class Verifications(Strict):
    """The content of `verified.toml`, by the name of the bundle."""

    bundles: Mapping[str, Verification] = Field(default_factory=dict)


@dataclass(frozen=True)
class Submission:
    """A bundle in the folder; `verification` is None if this file has not been verified."""

    name: str
    bundle: Bundle
    verification: Verification | None

    @property
    def card(self) -> Card:
        """What its authors say about the method."""
        return Card.read(self.bundle.card, CARD)

    @property
    def checked(self) -> str:
        """How many of its runs agreed when they were executed again."""
        runs = self.verification.runs if self.verification else 0
        return f"{runs:,} of {len(self.bundle.runs):,} runs"


def read_submissions(folder: Path = FOLDER) -> tuple[Submission, ...]:
    """Read all bundles of a folder; one that is not valid raises ValueError with one line."""
    verified = load_toml(folder / VERIFIED, Verifications, MAX_BYTES) if (folder / VERIFIED).exists() else None
    submissions = []
    for path in sorted(folder.glob("*.zip")):
        verification = verified.bundles.get(path.name) if verified else None
        key = hashlib.sha256(path.read_bytes()).hexdigest(), load_protocol().version
        is_this = verification is not None and (verification.sha256, verification.protocol) == key
        submissions.append(Submission(path.name, read_bundle(path), verification if is_this else None))
    return tuple(submissions)


@cache
def verified_codes(folder: Path = FOLDER) -> frozenset[str]:
    """Return the hashes of the sources whose bundles were verified."""
    verified = (each for each in read_submissions(folder) if each.verification)
    return frozenset(code for submission in verified for code in submission.bundle.sources)
