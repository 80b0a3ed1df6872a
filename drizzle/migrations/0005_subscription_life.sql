-- Subscriptions that end, events in the formats of more providers, and repeated deliveries.
--
-- The defaults are also for servers of the release before, which write during a rollout.

create table "webhook_repeats" (
	"event" uuid primary key not null,
	"repeats" integer not null,
	-- Counts go with their events.
	constraint "webhook_repeats_event_webhook_events_id_fk" foreign key ("event") references "public"."webhook_events" ("id") on delete cascade
);
--> statement-breakpoint
-- When the event happened that set the status: an older one that comes later must not undo it. Null: updated_at.
alter table "subscriptions" add column "status_at" timestamp (3) with time zone;
--> statement-breakpoint
-- A payment of an active customer changed nothing so far. Without its time, an older cancellation that is replayed would end
-- what was paid after it. Events of before count as of their arrival. Requests for subscriptions wait for this.
update "subscriptions" set "status_at" = "paid"."latest"
from (
	select "provider", "customer", max("created_at") as "latest"
	from "webhook_events"
	where "type" = 'payment_intent.succeeded' and "status" = 'processed'
	group by "provider", "customer"
) as "paid"
where "subscriptions"."customer" = "paid"."customer" and "subscriptions"."provider" = "paid"."provider";
--> statement-breakpoint
alter table "webhook_events"
	add column "preset" text collate "C" default 'stripe' not null, -- the provider whose format it has; workers know no providers
	add column "occurred_at" timestamp (3) with time zone, -- by the clock of the provider
	add column "reason" text collate "C"; -- why it had no effect
--> statement-breakpoint
-- With the fingerprint first, an event is found by its id alone. Deliveries wait while the index is built.
drop index "webhook_events_fingerprint_key";
--> statement-breakpoint
create unique index "webhook_events_fingerprint_key" on "webhook_events" using btree ("fingerprint","provider");
