"""Read resources that exist already, for the functions `get_custom_job`, `get_model` and so on."""

from __future__ import annotations

import pulumi

from pulumi_vertex_training.cloud.errors import CloudError
from pulumi_vertex_training.core import connection
from pulumi_vertex_training.core.get_functions import Arguments, Lookup, Result, not_running
from pulumi_vertex_training.dynamic.process import engine_address
from pulumi_vertex_training.program import messages, resource
from pulumi_vertex_training.program.resource import stack_settings
from vertex_emulator import LauncherError


def read_existing(lookup: Lookup[Arguments, Result], arguments: Arguments) -> Result:
    """Return an existing resource of the stack's endpoint, with its project and location as defaults.

    A deployment starts the emulator if it does not run; a preview does not. Raises `pulumi.RunError`, also if
    the resource does not exist.
    """
    settings, (project, location) = stack_settings(), lookup.place(arguments)
    place = (settings.endpoint, project or resource.project(), location or resource.location(), settings)
    deploys = engine_address() and not pulumi.runtime.is_dry_run()
    try:
        endpoint = connection.connect(*place) if deploys else connection.connect_if_running(*place)
        if endpoint is None:
            raise not_running(settings.data_dir)
        return lookup.read(endpoint, arguments)
    except (CloudError, LauncherError) as error:
        raise pulumi.RunError(messages.in_shell(lookup.failure(arguments, error))) from None
