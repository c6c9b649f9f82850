"""``python -m kgplatform`` is the command line."""

from kgplatform.cli.main import main

raise SystemExit(main())
