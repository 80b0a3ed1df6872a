-- So that an operator finds the trace of a delivery.
alter table "webhook_events" add column "trace_id" text collate "C";
--> statement-breakpoint
-- Only servers from before 0006 wrote to it. It is gone already from a database that was spread before this migration.
drop table if exists "webhook_repeats";
