"""The pipeline inside one Python process: Task → Workflow → Job → Channel → Worker.

It ships beside pyscheduler and imports nothing of it, nor the reverse. Drivers of databases load only when a store
that needs them is configured.
"""
