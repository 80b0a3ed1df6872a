-- The role of servers and workers. It reads and writes rows, and cannot create, change or drop anything. Run this once for
-- each database, as the role that migrates it: on an empty one before the first migration or a restore, or at any time later.
--   SERVICE_PASSWORD_FILE=service_password psql "$(cat owner_url)" --file deploy/serving-role.sql
-- compose.yaml runs it when it creates the database. `npm run doctor` names every right that the role lacks.
\set ON_ERROR_STOP on
\set password `cat "$SERVICE_PASSWORD_FILE"`
-- Fails when the file is absent or empty: PostgreSQL would make a role without a password.
select 1 / length(:'password') as has_password \gset
-- Creates the role. If the role that migrates may not create roles, another one creates this role first.
select format('create role triport_service login password %L', :'password')
  where not exists (select from pg_roles where rolname = 'triport_service') \gexec

-- Grants rights on what there is.
grant usage on schema public to triport_service;
grant select, insert, update, delete on all tables in schema public to triport_service;
grant usage on all sequences in schema public to triport_service;
grant execute on all functions in schema public to triport_service;
-- Drizzle records in this schema which migrations have run. The first migration creates it.
select 'grant usage on schema drizzle to triport_service; grant select on all tables in schema drizzle to triport_service'
  where to_regnamespace('drizzle') is not null \gexec

-- Grants rights on what later migrations of the role that runs this create.
alter default privileges grant usage on schemas to triport_service;
alter default privileges grant select on tables to triport_service;
alter default privileges in schema public grant insert, update, delete on tables to triport_service;
alter default privileges in schema public grant usage on sequences to triport_service;
alter default privileges in schema public grant execute on functions to triport_service;
