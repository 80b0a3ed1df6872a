-- Spreads the tables that grow with the events over the nodes of Citus: `npm run migrate -- --spread`, once.
--
-- Users, posts, keys, the audit log and the queue stay on the coordinator: one address for one user and exact totals need one
-- node, and the order of the audit log is the order of commits. While the tables are copied, reads and writes of them wait.

-- Citus commits in two phases when a transaction wrote to two of its tables' nodes. Users, jobs and the audit log are in plain
-- tables of the coordinator, which do not count: a crash between its commit and that of a node would keep the event and lose
-- its job. A write to this table counts, also one that deletes no row.
-- A restored backup has it already.
create table if not exists "commits" ("id" integer primary key);
--> statement-breakpoint
create or replace function "commit_on_all_nodes"() returns void language plpgsql as $$
begin
	delete from public.commits where id = 0;
end $$;
--> statement-breakpoint
-- Only servers from before 0006 write to it, and it refers to the key that is replaced.
drop table if exists "webhook_repeats";
--> statement-breakpoint
-- Every unique key of a spread table must contain the column that places its rows.
alter table "webhook_event_repeats" drop constraint "webhook_event_repeats_event_fkey";
--> statement-breakpoint
alter table "webhook_events" drop constraint "webhook_events_pkey", add primary key ("id", "fingerprint");
--> statement-breakpoint
alter table "subscriptions" drop constraint "subscriptions_pkey", add primary key ("id", "customer");
--> statement-breakpoint
select create_distributed_table('webhook_events', 'fingerprint', colocate_with => 'none', shard_count => 8);
--> statement-breakpoint
-- An event and the count of its deliveries are on one node.
select create_distributed_table('webhook_event_repeats', 'fingerprint', colocate_with => 'webhook_events');
--> statement-breakpoint
alter table "webhook_event_repeats" add constraint "webhook_event_repeats_event_fkey" foreign key ("fingerprint", "provider")
	references "webhook_events" ("fingerprint", "provider") on delete cascade;
--> statement-breakpoint
select create_distributed_table('subscriptions', 'customer', colocate_with => 'none', shard_count => 8);
--> statement-breakpoint
select citus_add_local_table_to_metadata('commits');
--> statement-breakpoint
-- The copied rows would stay on the coordinator for ever, and nobody would see them.
select truncate_local_data_after_distributing_table('webhook_events');
--> statement-breakpoint
select truncate_local_data_after_distributing_table('subscriptions');
