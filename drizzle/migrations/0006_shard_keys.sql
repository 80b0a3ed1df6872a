-- For a distributed database: `npm run migrate -- --spread`.
--
-- Repeated deliveries are found by the fingerprint of their event, so that both are on one node.

create table "webhook_event_repeats" (
	"fingerprint" "bytea" not null,
	"provider" text collate "C" not null,
	"repeats" integer not null,
	constraint "webhook_event_repeats_primary_key" primary key ("fingerprint", "provider"),
	-- Counts go with their events.
	constraint "webhook_event_repeats_event_fkey" foreign key ("fingerprint", "provider")
		references "public"."webhook_events" ("fingerprint", "provider") on delete cascade
);
--> statement-breakpoint
-- The table before it stays for servers of the release before, which write to it during a rollout.
insert into "webhook_event_repeats" select e."fingerprint", e."provider", r."repeats"
	from "webhook_repeats" r join "webhook_events" e on e."id" = r."event";
--> statement-breakpoint
-- First in a transaction that writes rows of several nodes: all of them commit or none. Here there is one node; drizzle/spread.sql
-- replaces it.
create function "commit_on_all_nodes"() returns void language sql as '';
