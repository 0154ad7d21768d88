"""A study with a parameter that depends on another one."""

import pulumi_vertex_training as vt

study = vt.StudySpecArgs(
    metrics=[vt.maximize("accuracy"), vt.minimize("size")],
    parameters=[
        vt.double_parameter("rate", 0.001, 0.1, scale="log"),
        vt.integer_parameter("layers", 1, 4),
        vt.discrete_parameter("batch", [32, 64, 128]),
        vt.categorical_parameter(
            "optimizer",
            ["sgd", "adam"],
            conditions=[vt.when("sgd", vt.double_parameter("momentum", 0.5, 0.99))],
        ),
    ],
)
