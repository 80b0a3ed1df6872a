-- Repeated deliveries by the key of their event that a distributed database can place: `npm run migrate -- --spread` puts an
-- event and its count on one node. The foreign key leads to the unique index of the fingerprints.

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
