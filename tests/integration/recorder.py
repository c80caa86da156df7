"""A second callback of the proxy: masks a word as guardrails do, and records each charge."""

import json
import os
from pathlib import Path

from litellm.integrations.custom_logger import CustomLogger

SECRET_WORD = "hunter2"


class Recorder(CustomLogger):
    """Runs after the callback under test."""

    async def async_pre_call_hook(self, user_api_key_dict, cache, data, call_type):
        said = "input" if call_type == "aresponses" else "messages"
        data[said] = json.loads(json.dumps(data[said]).replace(SECRET_WORD, "[masked]"))
        return data

    async def async_log_success_event(self, kwargs, response_obj, start_time, end_time):
        metadata = kwargs["litellm_params"]["metadata"] or {}
        charge = {"key": metadata.get("user_api_key"), "cost": kwargs.get("response_cost")}
        charge["asked"] = str(kwargs.get("messages"))
        with Path(os.environ["RECORDED"]).open("a") as out:
            out.write(json.dumps(charge) + "\n")


hook = Recorder()
