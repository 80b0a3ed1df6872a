-- The changes of records, for those who follow them: each gets its number after its commit.
--
-- Each entry of the audit log takes its ordinal under the lock of its record: in the order of ordinals, each change comes after
-- those that it could know of. But transactions end in another order, and some fail. So `number_changes` gives the next numbers to
-- the entries that were committed since its last call, in the order of ordinals. A reader that knows a number finds all later
-- changes behind it, and waits for no open transaction.

-- How far a call has seen.
create type "numbering" as (
	"seen" bigint, -- the highest ordinal
	"gaps" int8multirange, -- the lower ordinals that it did not see: their transactions were open, or have failed
	"old_gaps" int8multirange, -- those that only transactions before `horizon` can fill
	"horizon" xid8 -- the id of a transaction
);
create table "changes" (
	"number" bigint primary key not null, -- has no gaps, so that a reader notices when some were trimmed
	"entry" uuid not null, -- no foreign key: the newest row outlives its entry
	-- Only the last row of each call has it. A table with one row would need an update by each call, and PostgreSQL keeps all
	-- versions of that row, and reads past them, while an old transaction is open.
	"numbering" numbering
);
insert into "changes" values (0, '00000000-0000-0000-0000-000000000000', (0, '{}', '{}', '0'));
-- Gives numbers to committed entries, at most `portion` of them; returns the newest number, its entry, and how many it gave. Calls
-- run one after the other, each in a transaction of its own, so that none waits for a client. Only index scans are on, because
-- PostgreSQL keeps plans: one for a small table would read all of a large one. Compiling a plan takes longer than running it.
create function "number_changes"(portion integer, out newest bigint, out newest_entry uuid, out given integer)
language plpgsql set search_path = public set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
	last changes;
	reached numbering;
	entries uuid[];
	ordinals int8multirange;
	seen bigint;
	oldest xid8; -- the oldest open transaction
begin
	if pg_current_xact_id_if_assigned() is not null then
		raise exception 'Changes are numbered in a transaction that has written nothing before' using errcode = '25001';
	end if;
	perform pg_advisory_xact_lock(7283453);
	-- A number that somebody has seen must survive a crash.
	if current_setting('synchronous_commit') = 'off' then set local synchronous_commit = on; end if;
	select * into strict last from changes order by number desc limit 1;
	newest := last.number;
	newest_entry := last.entry;
	reached := last.numbering;
	-- Reads all in one statement, and so in one snapshot.
	select array_agg(id order by ordinal), range_agg(int8range(ordinal, ordinal, '[]')), count(*),
		pg_snapshot_xmin(pg_current_snapshot())
	into entries, ordinals, given, oldest from (
		select late.* from unnest(reached.gaps) as gap, lateral (select id, ordinal from audit_log
			where ordinal >= lower(gap) and ordinal < upper(gap) order by ordinal limit portion) as late
		union all (select id, ordinal from audit_log where ordinal > reached.seen order by ordinal limit portion)
		order by ordinal limit portion
	) as committed;
	if given = 0 then return; end if;
	seen := greatest(reached.seen, upper(ordinals) - 1);
	reached.gaps := reached.gaps + int8multirange(int8range(reached.seen, seen, '(]')) - ordinals;
	reached.seen := seen;
	-- The id of this transaction is higher than that of any which can fill a gap. In another server, ids may begin anew.
	reached.horizon := least(reached.horizon, pg_current_xact_id());
	if oldest >= reached.horizon and given < portion then
		reached.gaps := reached.gaps - reached.old_gaps; -- those transactions have ended
		reached.old_gaps := reached.gaps;
		reached.horizon := pg_current_xact_id();
	end if;
	-- Fails as a lost race, which is tried again, if the isolation of the transaction hides the last numbers.
	insert into changes select newest + n, id, case when n = given then reached end
		from unnest(entries) with ordinality as entry (id, n) on conflict (number) do nothing;
	newest := newest + given;
	newest_entry := entries[given];
end $$;
