"""Run by Alembic: migrate over the connection and transaction that `open_engine` hands in."""

from alembic import context

context.configure(connection=context.config.attributes["connection"], transactional_ddl=False)
context.run_migrations()
