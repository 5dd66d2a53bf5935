"""The service: models, their proofs, decisions and history over HTTP; see docs/service.md."""
