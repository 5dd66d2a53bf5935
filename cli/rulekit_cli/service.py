"""rulekit serve: models, proofs and decisions over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rulekit.errors import InputError
from rulekit_cli.console import log, result
from rulekit_cli.options import command

_SERVED = "models folder.service database host port processes certificate key.tls behind_proxy mask max_rows max_body"
_SERVED += " max_upload call_seconds max_flips max_worse jobs rate new_token roles.token migrate"
_MEGABYTE = 1 << 20
_LIMITS = {"body": "max_body", "upload": "max_upload", "rows": "max_rows", "seconds": "call_seconds", "jobs": "jobs"}
_LIMITS |= {"rate": "rate", "flips": "max_flips", "worse": "max_worse"}
"""By field of the settings the option that sets it."""


@command(_SERVED)
def serve(
    host: str,
    port: int,
    processes: int,
    behind_proxy: bool,
    migrate: bool,
    folder: Path = Path("rulekit-data"),
    database: str = "",
    certificate: Path | None = None,
    key: Path | None = None,
    mask: tuple[str, ...] = (),
    models: tuple[Path, ...] = (),
    new_token: str | None = None,
    roles: tuple[str, ...] = (),
    **limits: Any,
) -> None:
    """Serve models over HTTP, and record each decision before it is answered.

    The service scores and explains rows, trains and verifies models, and keeps their history. A model becomes champion
    after rulekit has proved its ONNX. The first start makes a token with all roles, prints it and writes it to the file
    `token` of the folder. The command needs the extra serve: pip install "rulekit-portable[serve]".

    \b
    Examples:
      rulekit serve
      rulekit serve loans.json
      rulekit serve --new-token scoring --roles score
      rulekit serve --database postgresql://rulekit@db/rulekit --host 0.0.0.0 --behind-proxy --processes 4
    """
    try:
        from rulekit_serve import command as serving
        from rulekit_serve.settings import Settings
    except ImportError as error:
        what = f"the service needs a package that is not installed: {error.name}"
        raise InputError(what, where="rulekit serve", fix='pip install "rulekit-portable[serve]"') from None
    asked = {name: limits[option] for name, option in _LIMITS.items()}
    asked |= {name: asked[name] * _MEGABYTE for name in ("body", "upload")}
    secure = certificate is not None or behind_proxy
    settings = Settings(folder, database, tuple(mask), secure=secure, **asked)
    if migrate:
        serving.migrate(settings)
        log("the database has the version of this rulekit")
        return
    if new_token is not None:
        result(serving.make_token(settings, new_token, tuple(roles)))
        return
    where = serving.Listening(host, port, certificate, key, behind_proxy, processes)
    serving.check(where)
    offered = serving.offer(settings, models)
    secret = serving.first_token(settings)
    for name in offered:
        log(f"model {name}")
    log(f"serving on {where.url}; Ctrl-C ends it")
    if secret is not None:
        log(f"the token of this database, with all roles: {secret}")
        log(f"it is in {settings.folder / 'token'} too; more by rulekit serve --new-token NAME --roles score")
    serving.listen(settings, where)
