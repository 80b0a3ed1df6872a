-- Spreads the tables that grow with the events over the nodes of Citus: `npm run migrate -- --spread`, once.
--
-- The tables of the application, keys, the audit log and the queue stay on the coordinator: unique e-mail addresses and exact
-- totals need one node, and so does the numbering of changes. While the tables are copied, reads and writes of
-- them wait.
-- What Citus asks of the rest of the service is in docs/decisions/05-database.md.

-- Citus commits in two phases if a transaction wrote to spread tables on two nodes. It does not count the queue and
-- the audit log, plain tables of the coordinator: a crash between its commit and that of a node would keep an event and
-- lose its place in the queue. A write to `commits` counts, even one that deletes no row.
-- A restored backup has this table already.
create table if not exists "commits" ("id" integer primary key);
create or replace function "commit_on_all_nodes"() returns trigger language plpgsql as $$
begin
	delete from public.commits where id = 0;
	return null;
end $$;
-- Every transaction that writes events or subscriptions, except for deliveries that are only counted, writes to the queue.
create or replace trigger "webhook_queue_commits" after insert or update or delete on "webhook_queue"
	for each statement execute function "commit_on_all_nodes"();
-- Every unique key of a spread table must contain the column that places its rows.
alter table "webhook_events" drop constraint "webhook_events_pkey", add primary key ("id", "fingerprint");
alter table "subscriptions" drop constraint "subscriptions_pkey", add primary key ("id", "customer");
select create_distributed_table('webhook_events', 'fingerprint', colocate_with => 'none', shard_count => 8);
select create_distributed_table('subscriptions', 'customer', colocate_with => 'none', shard_count => 8);
select citus_add_local_table_to_metadata('commits');
-- Deletes the rows that were copied: they would stay on the coordinator for ever, and nobody would see them.
select truncate_local_data_after_distributing_table('webhook_events');
select truncate_local_data_after_distributing_table('subscriptions');
