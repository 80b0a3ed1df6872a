-- The audit log names the event that changed a subscription, and is read by cursor; no commit waits for a fold.

-- Without this index, a filter by action reads the whole log. Writers wait while it is built: about a second for a million
-- entries.
create index "audit_log_action_index" on "audit_log" using btree ("action","id");
--> statement-breakpoint
-- Periods are bounds of the id, which starts with the time, so the primary key serves them in order.
drop index "audit_log_time_index";
--> statement-breakpoint
alter table "audit_log" add column "details" jsonb;
--> statement-breakpoint
-- A commit must never wait: a bulk load used to wait here without a limit while another session held the lock, and blocked
-- every connection of a server. Readers count unfolded changes themselves, and one of the next statements folds them.
create or replace function list_fold_when_due() returns trigger language plpgsql set lock_timeout = '100ms' as $$
begin
	if current_setting('transaction_isolation') <> 'read committed' or not pg_try_advisory_xact_lock(7283452) then
		return null;
	end if;
	perform public.list_fold(new.source);
	return null;
exception when lock_not_available then -- another session has locked the tables of the counts, as vacuum full does
	return null;
end $$;
--> statement-breakpoint
-- Under repeatable read, a truncate did not see changes that others had committed meanwhile, and left their totals behind.
-- It holds a lock on its table, so it must not wait long for a fold.
create or replace function list_truncated() returns trigger language plpgsql set lock_timeout = '2s' as $$
begin
	if current_setting('transaction_isolation') <> 'read committed' then
		raise exception 'truncate % under % would leave wrong totals: use read committed', tg_table_name, current_setting('transaction_isolation')
			using errcode = 'invalid_transaction_state';
	end if;
	perform pg_advisory_xact_lock(7283452);
	delete from public.list_changes where source = tg_table_name;
	delete from public.list_counts where source = tg_table_name;
	perform public.list_build(tg_table_name, '');
	return null;
end $$;
--> statement-breakpoint
-- Each start of the service calls this. It does not wait for the lock: another session that holds it is probably folding.
create or replace function list_refresh() returns void language plpgsql set search_path = public as $$
begin
	if pg_try_advisory_xact_lock(7283452) then
		perform list_fold(name) from list_sources;
	end if;
end $$;
--> statement-breakpoint
-- `npm run repair` fails after a while instead of waiting for a forgotten transaction.
alter function list_repair() set lock_timeout = '10s';
