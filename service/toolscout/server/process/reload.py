"""SIGHUP: what is read from files again and again is read at once."""

import asyncio
import signal

import uvicorn

from toolscout.server.service import Service
from toolscout.serving.tls import Certificate


def install(service: Service, server: uvicorn.Server) -> None:
    """Follow the certificate, if there is one, and take SIGHUP."""
    certificate: Certificate | None = None
    if service.settings.tls_cert and server.config.ssl is not None:
        certificate = Certificate(service.settings, server.config.ssl, service.log)
        service.run(certificate.files.follow())

    def reread() -> None:
        if service.key_file is not None:
            service.key_file.files.check()
        if certificate is not None:
            certificate.files.check()
        service.log.info("files_read", signal="SIGHUP")

    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, reread)
