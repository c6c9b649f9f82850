"""Has a build of the package bring the assets of the pages, where they can be built (see ``tools/web.py``)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Assets(BuildHookInterface):  # type: ignore[type-arg]
    """Runs ``tools/web.py`` before anything is packed."""

    PLUGIN_NAME = "assets"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Ends the build only where the assets are required and cannot be made."""
        tool = Path(self.root) / "tools" / "web.py"
        if tool.is_file() and subprocess.run([sys.executable, str(tool)], check=False).returncode:
            raise SystemExit("the assets of the pages could not be built; see the line above")
