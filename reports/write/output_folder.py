"""The folder of a report: a record of its files and their inputs, so that unchanged outputs are reused."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from data_pipelines.support.files import sha256_of, write_whole

RECORD = ".report.json"


@dataclass
class OutputFolder:
    """The files by part (`tables`, `figures`, `page`), each with the hashes of its inputs and its content."""

    path: Path
    parts: dict[str, dict[str, Any]] = field(default_factory=dict)
    recorded: str = ""
    """Hash of the inputs of the analysis runs in MLflow."""
    absent: list[str] = field(default_factory=list)
    """Sentences on anything missing."""

    @classmethod
    def open(cls, path: Path) -> "OutputFolder":
        """Read the record of a folder; a damaged record counts as none."""
        try:
            content = json.loads((path / RECORD).read_text(encoding="utf-8"))
            return cls(path, dict(content["parts"]), str(content["recorded"]), list(content["absent"]))
        except (OSError, ValueError, KeyError, TypeError):
            return cls(path)

    def is_current(self, part: str, inputs: str) -> bool:
        """Return whether a part was made from these inputs, without failures, and its files are unchanged."""
        entry = self.parts.get(part, {})
        return entry.get("inputs") == inputs and all(self._is_unchanged(name, part) for name in entry["files"])

    def is_made_from(self, part: str, names: Iterable[str], made_from: str) -> bool:
        """Return whether files of a part were made from this content, and are unchanged."""
        files = self.parts.get(part, {}).get("files", {})
        return all(
            files.get(name, {}).get("made_from") == made_from and self._is_unchanged(name, part) for name in names
        )

    def files_of(self, part: str, made_from: str) -> list[str]:
        """Return the files of a part that were made from this content."""
        files = self.parts.get(part, {}).get("files", {})
        return [name for name, file in files.items() if file["made_from"] == made_from]

    def put(self, name: str, content: bytes) -> bool:
        """Write a file unless it already has that content; return whether it was written."""
        target = self.path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.is_file() and target.read_bytes() == content:
            return False
        write_whole(target, content)
        return True

    def close_part(self, part: str, inputs: str, files: Mapping[str, str]) -> None:
        """Record the files of a part, each with the hash of its inputs, and remove files that it no longer has."""
        for name in set(self.parts.get(part, {}).get("files", {})) - set(files):
            (self.path / name).unlink(missing_ok=True)
        self.parts[part] = {
            "inputs": inputs,
            "files": {
                name: {"made_from": source, "sha256": sha256_of(self.path / name)} for name, source in files.items()
            },
        }
        self.save()

    def save(self) -> None:
        """Write the record."""
        self.path.mkdir(parents=True, exist_ok=True)
        content = {"parts": self.parts, "recorded": self.recorded, "absent": self.absent}
        text = json.dumps(content, indent=1, sort_keys=True)
        write_whole(self.path / RECORD, text.encode())

    def _is_unchanged(self, name: str, part: str) -> bool:
        path = self.path / name
        return path.is_file() and sha256_of(path) == self.parts[part]["files"][name]["sha256"]
