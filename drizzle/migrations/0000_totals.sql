-- Exact totals and the start of any page, without counting rows.
--
-- A list is a table, or the rows of a table that have one value in one column. Its name is 'parts', or 'parts.colour=red'. It
-- is ordered by id, which is the order of creation. Each list has a total, and blocks of a few thousand rows: a block begins
-- at its first id and ends where the next one begins. To find the millionth row, add up the blocks before it.
--
-- Writers touch neither: a trigger appends their changes to `list_log`, so no writer waits for another. `list_fold` moves
-- changes from the log to the totals and blocks, in one transaction. So in every snapshot, whatever is rolled back or open,
--     rows in the range of a block  =  amount of the block  +  changes in its range that are in the log,
-- and the same holds for a total. Readers add the log to both, so a fold may be late, interrupted or missing.

create table "list_tables" (
	"name" text collate "C" primary key, -- a table whose rows are counted
	"columns" text[] not null -- the rows with the same value in one of these columns are a list of their own
);
create table "list_log" (
	"list" text collate "C" not null,
	"id" uuid not null,
	"change" smallint not null -- 1: a row was added, -1: a row was removed
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
create index "list_log_index" on "list_log" using btree ("list");
create table "list_totals" ("list" text collate "C" primary key, "amount" bigint not null);
create table "list_blocks" (
	"list" text collate "C" not null,
	"first" uuid not null,
	"amount" bigint not null,
	primary key ("list", "first")
);
-- Counts the rows from this id up to the next block anew, and divides them into blocks.
create function list_count(of_list text, low uuid) returns void language plpgsql set search_path = public as $$
declare
	of_column constant text := split_part(split_part(of_list, '.', 2), '=', 1);
	condition constant text := case of_column when '' then 'true'
		else format('%I = %L', of_column, substr(of_list, strpos(of_list, '=') + 1)) end;
	high constant uuid := coalesce((select first from list_blocks where list = of_list and first > low order by first limit 1),
		'ffffffff-ffff-ffff-ffff-ffffffffffff'); -- RFC 9562 reserves it, so no row has it
begin
	delete from list_blocks where list = of_list and first = low;
	-- One statement reads both, because the rows and the log must be of the same snapshot. A block whose amount would be 0 is left
	-- out: the block before it then ends later.
	execute format('insert into list_blocks select $1, (array_agg(id order by id))[1], sum(amount) from (
		select id, amount, (dense_rank() over (order by id) - 1) / 4096 as block from (
			select $2 as id, 0 as amount
			union all select id, 1 from %I where %s and id >= $2 and id < $3
			union all select id, -change from list_log where list = $1 and id >= $2 and id < $3) as entry
		) as numbered group by block having sum(amount) <> 0', split_part(of_list, '.', 1), condition) using of_list, low, high;
end $$;
-- Moves up to this many changes from the log to the totals and blocks, and returns how many. It waits for no lock: if several
-- calls run at once, only one moves changes. It fails in a transaction that does not see the last fold.
create function list_fold(portion integer) returns integer language plpgsql set search_path = public as $$
declare
	moved integer;
	resized list_blocks[];
begin
	if not pg_try_advisory_xact_lock(7283452) then return 0; end if;
	with gone as (
		delete from list_log where ctid = any (array(select ctid from list_log limit portion)) returning list, id, change
	), totals as (
		insert into list_totals as old select list, sum(change) from gone group by list
		on conflict (list) do update set amount = old.amount + excluded.amount
	), blocks as (
		insert into list_blocks as old select list, coalesce(
			(select first from list_blocks as block where block.list = gone.list and first <= id order by first desc limit 1),
			'00000000-0000-0000-0000-000000000000') as start, sum(change) from gone group by list, start
		on conflict (list, first) do update set amount = old.amount + excluded.amount returning list, first, amount
	)
	select (select count(*) from gone),
		array(select (list, first, amount)::list_blocks from blocks where amount not between 1 and 8192) into moved, resized;
	perform list_count(list, first) from unnest(resized);
	return moved;
end $$;
-- Counts a table anew while others read and write, which only writes with disabled triggers make necessary. It fails after a
-- while instead of waiting for a forgotten transaction.
create function list_repair(of_table text) returns void language plpgsql set search_path = public set lock_timeout = '10s' as $$
begin
	if current_setting('transaction_isolation') <> 'read committed' then
		raise exception 'Counting needs read committed, to see what others wrote meanwhile' using errcode = '25001';
	end if;
	perform pg_advisory_xact_lock(7283452);
	delete from list_log where split_part(list, '.', 1) = of_table;
	delete from list_blocks where split_part(list, '.', 1) = of_table;
	delete from list_totals where split_part(list, '.', 1) = of_table;
	-- A list that lost all of its rows since the log was emptied is only in the log.
	execute format('select list_count(list, ''00000000-0000-0000-0000-000000000000'') from (
		select %L as list %s union select list from list_log where split_part(list, ''.'', 1) = %1$L) as lists', of_table, (
		select string_agg(format('union select %L || %I from %I where %2$I is not null', format('%s.%s=', name, c), c, name), ' ')
		from list_tables cross join unnest(columns) as c where name = of_table));
	insert into list_totals select list, sum(amount) from list_blocks where split_part(list, '.', 1) = of_table group by list;
end $$;
-- Starts to keep totals of a table, as a whole and for each value of these columns, which should have few values. It can be
-- called again with other columns. Writers wait while the existing rows are counted: some seconds for a million.
create function list_watch(of_table text, of_columns text[]) returns void language plpgsql set search_path = public as $$
declare
	lists constant text := format('array_remove(array[%L%s], null)', of_table, (
		select string_agg(format(', %L || %%1$s.%I', format('%s.%s=', of_table, c), c), '') from unnest(of_columns) as c));
	moved constant text := (
		select string_agg(format('old.%1$I is distinct from new.%1$I', c), ' or ') from unnest(array['id'] || of_columns) as c);
begin
	perform pg_advisory_xact_lock(7283452); -- taken before the lock of the table, so that no writer waits behind a fold
	execute format($statements$
		create or replace function %2$I() returns trigger language plpgsql as $body$ begin
			if tg_op = 'TRUNCATE' then raise 'truncate %1$s would leave wrong totals: use delete' using errcode = '0A000'; end if;
			if tg_op <> 'INSERT' then insert into public.list_log select list, old.id, -1 from unnest(%3$s) as list; end if;
			if tg_op <> 'DELETE' then insert into public.list_log select list, new.id, 1 from unnest(%4$s) as list; end if;
			return null;
		end $body$;
		create or replace trigger list_changed after insert or delete on %1$I for each row execute function %2$I();
		create or replace trigger list_moved after update on %1$I for each row when (%5$s) execute function %2$I();
		create or replace trigger list_truncated before truncate on %1$I for each statement execute function %2$I();
	$statements$, of_table, 'list_log_' || of_table, format(lists, 'old'), format(lists, 'new'), moved);
	insert into list_tables values (of_table, of_columns) on conflict (name) do update set columns = excluded.columns;
	perform list_repair(of_table);
end $$;
-- Forgets the totals of a table. It is called before the table is dropped.
create function list_unwatch(of_table text) returns void language plpgsql set search_path = public as $$
begin
	perform pg_advisory_xact_lock(7283452);
	execute format('drop function if exists %I cascade', 'list_log_' || of_table); -- its triggers, too
	delete from list_log where split_part(list, '.', 1) = of_table;
	delete from list_blocks where split_part(list, '.', 1) = of_table;
	delete from list_totals where split_part(list, '.', 1) = of_table;
	delete from list_tables where name = of_table;
end $$;
-- The total of a list, and the start of a page that skips this many rows: `remaining` rows after `bound`, or before it if backward.
-- All results are of the snapshot of the statement that calls the function. Only index scans are on, because PostgreSQL keeps
-- plans: the plan for an empty log would read every dead row of a full one, and that for few blocks would sort all of many.
create function list_position(of_list text, skip bigint, backward boolean, out total bigint, out bound uuid, out remaining bigint)
language plpgsql stable set enable_seqscan = off set enable_bitmapscan = off as $$
declare
	ends constant uuid[] := '{00000000-0000-0000-0000-000000000000,ffffffff-ffff-ffff-ffff-ffffffffffff}';
	came bigint;
begin
	select amount into total from public.list_totals where list = of_list;
	if not found and not exists (select from public.list_tables where name = split_part(of_list, '.', 1)
		and split_part(split_part(of_list, '.', 2), '=', 1) = any (array_append(columns, '')))
	then
		raise exception 'list_watch was not asked to keep the total of %', of_list;
	end if;
	select coalesce(total, 0) + coalesce(sum(change), 0), count(*) filter (where change > 0)
	into total, came from public.list_log where list = of_list;
	-- A page past the end begins at the far end of the list, so it is empty.
	bound := ends[1 + (backward <> (skip >= total))::int];
	remaining := case when skip < total then skip else 0 end;
	-- The walk adds up blocks, which lack the rows in the log, so it stops early by as many rows as the log may add.
	if remaining <= came then return; end if;
	if backward then
		select until, skip - (passed - amount) into bound, remaining from (
			select *, lag(first, 1, bound) over walk as until, sum(amount) over walk as passed
			from public.list_blocks where list = of_list window walk as (order by first desc rows unbounded preceding)
		) as block where passed > skip - came order by first desc limit 1;
	else
		select first, skip - (passed - amount) into bound, remaining from (
			select *, sum(amount) over (order by first rows unbounded preceding) as passed
			from public.list_blocks where list = of_list
		) as block where passed > skip - came order by first limit 1;
	end if;
	remaining := remaining - coalesce((select sum(change) from public.list_log where list = of_list and (id < bound) <> backward), 0);
end $$;
