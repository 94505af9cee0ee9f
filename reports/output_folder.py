"""The folder of a report: which files were made from what, so that what is unchanged is not made again."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from data_pipelines.safe_files import sha256_of, write_whole

RECORD = ".report.json"


@dataclass
class OutputFolder:
    """Files by part (`tables`, `figures`, `page`), each with the hash of what it was made from and of its content."""

    path: Path
    parts: dict[str, dict[str, Any]] = field(default_factory=dict)
    recorded: str = ""
    """The inputs of what MLflow holds of it."""
    absent: list[str] = field(default_factory=list)
    """What was said to be missing."""

    @classmethod
    def open(cls, path: Path) -> "OutputFolder":
        """Read what is known of a folder; a damaged record counts as none."""
        try:
            known = json.loads((path / RECORD).read_text(encoding="utf-8"))
            return cls(path, dict(known["parts"]), str(known["recorded"]), list(known["absent"]))
        except (OSError, ValueError, KeyError, TypeError):
            return cls(path)

    def is_current(self, part: str, inputs: str) -> bool:
        """Tell whether a part was made from these inputs, without failures, and its files are still whole."""
        known = self.parts.get(part, {})
        return known.get("inputs") == inputs and all(self._is_whole(name, part) for name in known["files"])

    def is_made_from(self, part: str, names: Iterable[str], made_from: str) -> bool:
        """Tell whether some files of a part were made from this already, and are still whole."""
        known = self.parts.get(part, {}).get("files", {})
        return all(known.get(name, {}).get("made_from") == made_from and self._is_whole(name, part) for name in names)

    def files_of(self, part: str, made_from: str) -> list[str]:
        """Return the files of a part that were made from this."""
        known = self.parts.get(part, {}).get("files", {})
        return [name for name, file in known.items() if file["made_from"] == made_from]

    def put(self, name: str, content: bytes) -> bool:
        """Write a file unless it holds that content already; tell whether it was written."""
        target = self.path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.is_file() and target.read_bytes() == content:
            return False
        write_whole(target, content)
        return True

    def close_part(self, part: str, inputs: str, files: Mapping[str, str]) -> None:
        """Note what a part consists of (file → what it was made from), and remove files that it no longer has."""
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

    def _is_whole(self, name: str, part: str) -> bool:
        path = self.path / name
        return path.is_file() and sha256_of(path) == self.parts[part]["files"][name]["sha256"]
