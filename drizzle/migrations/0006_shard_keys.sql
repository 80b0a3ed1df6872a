-- For a distributed database: `npm run migrate -- --spread`.
--
-- Repeated deliveries are found by the fingerprint of their event, so that both are on one node.

alter table "webhook_repeats" rename to "webhook_repeats_by_id";
--> statement-breakpoint
create table "webhook_repeats" (
	"fingerprint" "bytea" not null,
	"provider" text collate "C" not null,
	"repeats" integer not null,
	constraint "webhook_repeats_primary_key" primary key ("fingerprint", "provider"),
	-- Counts go with their events.
	constraint "webhook_repeats_event_fkey" foreign key ("fingerprint", "provider")
		references "public"."webhook_events" ("fingerprint", "provider") on delete cascade
);
--> statement-breakpoint
insert into "webhook_repeats" select e."fingerprint", e."provider", r."repeats"
	from "webhook_repeats_by_id" r join "webhook_events" e on e."id" = r."event";
--> statement-breakpoint
drop table "webhook_repeats_by_id";
--> statement-breakpoint
-- First in a transaction that writes rows of several nodes: all of them commit or none. Here there is one node; drizzle/spread.sql
-- replaces it.
create function "commit_on_all_nodes"() returns void language sql as '';
