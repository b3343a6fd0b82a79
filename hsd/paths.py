"""Where the files that come with the package are: beside it in a checkout or a Space, inside it when installed."""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
_BUNDLED = _PACKAGE / "_bundled"
ROOT = _BUNDLED if _BUNDLED.is_dir() else _PACKAGE.parent

ASSETS = ROOT / "assets"
RESULTS, TRACES = ASSETS / "results", ASSETS / "traces"
WEB = _PACKAGE / "web"
GLOSSARY = _PACKAGE / "glossary.yaml"
SPACEFILE = ROOT / "Spacefile"
