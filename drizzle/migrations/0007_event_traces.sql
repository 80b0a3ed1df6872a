-- So that an operator finds the trace of a delivery.
alter table "webhook_events" add column "trace_id" text collate "C";
