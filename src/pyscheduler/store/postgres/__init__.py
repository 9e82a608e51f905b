"""The store on PostgreSQL. Its parts are imported only where such a store is opened: psycopg is an extra."""
