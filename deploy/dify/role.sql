-- A role that may only read Dify's database. Run it there as its owner, for example:
--   docker compose exec -T db_postgres psql -U postgres dify -v password="'…'" < role.sql
CREATE ROLE backscroll LOGIN PASSWORD :password;
ALTER ROLE backscroll SET default_transaction_read_only = on;
GRANT USAGE ON SCHEMA public TO backscroll;
GRANT SELECT ON ALL TABLES IN SCHEMA public TO backscroll;
-- Also tables that an upgrade of Dify adds.
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT ON TABLES TO backscroll;
