"""The log of the client and of turns."""

import logging

logger = logging.getLogger("toolscout.client")
