-- Spreads the tables that grow with the events over the nodes of Citus: `npm run migrate -- --spread`, once.
--
-- Users, posts, keys, the audit log and the queue stay on the coordinator: one address for one user and exact totals need one
-- node, and the order of the audit log is the order of commits. While the tables are copied, writes to them wait.

-- Every unique key of a spread table must contain the column that places its rows.
alter table "webhook_repeats" drop constraint "webhook_repeats_event_fkey";
--> statement-breakpoint
alter table "webhook_events" drop constraint "webhook_events_pkey", add primary key ("id", "fingerprint");
--> statement-breakpoint
alter table "subscriptions" drop constraint "subscriptions_pkey", add primary key ("id", "customer");
--> statement-breakpoint
select create_distributed_table('webhook_events', 'fingerprint', colocate_with => 'none', shard_count => 8);
--> statement-breakpoint
-- An event and the count of its deliveries are on one node.
select create_distributed_table('webhook_repeats', 'fingerprint', colocate_with => 'webhook_events');
--> statement-breakpoint
alter table "webhook_repeats" add constraint "webhook_repeats_event_fkey" foreign key ("fingerprint", "provider")
	references "webhook_events" ("fingerprint", "provider") on delete cascade;
--> statement-breakpoint
select create_distributed_table('subscriptions', 'customer', colocate_with => 'none', shard_count => 8);
