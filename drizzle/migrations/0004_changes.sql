-- The changes of records, for those who follow them: each gets its number after its commit.
--
-- A change is an entry of the audit log with a version. It takes its ordinal under the lock of its record: in the order of
-- ordinals, each change comes after those that it could know of. But transactions end in another order, and some fail. So
-- `number_changes` gives the next numbers to the changes that were committed since its last call, in the order of ordinals. A
-- reader that knows a number finds all later changes behind it, and waits for no open transaction.

-- How far a call has seen.
create type "numbering" as (
	"seen" bigint, -- the highest ordinal
	"gaps" int8multirange, -- the lower ordinals that it did not see: their transactions were open, or have failed
	"old_gaps" int8multirange, -- those that only transactions before `horizon` can fill
	"horizon" xid8
);
create table "changes" (
	"number" bigint primary key not null, -- has no gaps, so that a reader notices when some were trimmed
	"entry" uuid not null, -- no foreign key: the newest row outlives its entry
	-- Only the last row of a call has it. A row of its own would be updated by each call, and an old transaction keeps all
	-- versions of a row, which the next call would pass.
	"numbering" numbering
);
insert into "changes" values (0, '00000000-0000-0000-0000-000000000000', (0, '{}', '{}', '0'));
create function "take_ordinal"() returns trigger language plpgsql as $$
begin
	perform pg_current_xact_id(); -- gives the transaction its number before the ordinal, see below
	new."ordinal" := nextval('public.audit_log_ordinal');
	return new;
end $$;
create trigger "audit_log_takes_ordinal" before insert on "audit_log" for each row
	when (new."version" is not null and new."ordinal" is null) execute function "take_ordinal"();
-- Gives numbers to committed changes, about as many as `portion`; returns the newest number, its entry, and how many it gave. Of
-- calls at the same time each waits for the one before. It is a transaction of its own, so that none waits for a client. Only index
-- scans are on, because PostgreSQL keeps plans: one for a small table would read all of a large one.
create function "number_changes"(portion integer, out newest bigint, out newest_entry uuid, out given integer)
language plpgsql set search_path = public set enable_seqscan = off set enable_bitmapscan = off as $$
declare
	last changes;
	reached numbering;
	entries uuid[];
	ordinals int8multirange;
	oldest xid8; -- the oldest open transaction
begin
	if pg_current_xact_id_if_assigned() is not null then
		raise exception 'Changes are numbered in a transaction that has written nothing before' using errcode = '25001';
	end if;
	perform pg_advisory_xact_lock(7283453);
	-- A number that somebody has seen must survive a crash.
	if current_setting('synchronous_commit') = 'off' then set local synchronous_commit = on; end if;
	select * into last from changes order by number desc limit 1;
	newest := last.number;
	newest_entry := last.entry;
	reached := last.numbering;
	-- One statement, so that all is of one snapshot.
	select array_agg(id order by ordinal), range_agg(int8range(ordinal, ordinal, '[]')), count(*), pg_snapshot_xmin(pg_current_snapshot())
	into entries, ordinals, given, oldest from (
		(select late.* from unnest(reached.gaps) as gap, lateral (select id, ordinal from audit_log
			where ordinal >= lower(gap) and ordinal < upper(gap) order by ordinal limit portion) as late order by ordinal limit portion)
		union all
		(select id, ordinal from audit_log where ordinal > reached.seen order by ordinal limit portion)
	) as committed;
	if given = 0 then return; end if;
	if upper(ordinals) > reached.seen + 1 then
		reached.gaps := reached.gaps + int8multirange(int8range(reached.seen + 1, upper(ordinals)));
		reached.seen := upper(ordinals) - 1;
	end if;
	reached.gaps := reached.gaps - ordinals;
	-- This transaction began to write after all that can fill a gap, so it has a higher number. A crash, and a restore in another
	-- server, may take the numbers of transactions back.
	reached.horizon := least(reached.horizon, pg_current_xact_id());
	if oldest >= reached.horizon and given < portion then
		reached.gaps := reached.gaps - reached.old_gaps; -- those transactions have ended
		reached.old_gaps := reached.gaps;
		reached.horizon := pg_current_xact_id();
	end if;
	-- It is a lost race, tried again, where the transaction does not see the last numbers because of its isolation.
	insert into changes select newest + n, id, case when n = given then reached end
		from unnest(entries) with ordinality as entry (id, n) on conflict (number) do nothing;
	newest := newest + given;
	newest_entry := entries[given];
end $$;
