-- Exact totals and the start of any page, without counting rows.
--
-- A list is ordered by id, which is the order of creation. For each list, `list_counts` holds three levels of nodes: blocks
-- of about 1024 rows, groups of about 128 blocks, and the list itself. A node begins at its first id and ends where the next
-- node of its level begins. To find the millionth row, walk along the groups, and then along the blocks of one of them.
--
-- A writer only appends to `list_log`: it never touches a node, so it never waits for one. The service moves changes from the
-- log to the nodes in the background (`list_fold`). In every snapshot, whatever is rolled back or still open,
--     rows in the range of a node  =  amount of the node  +  changes in its range that are in the log.
--
-- Changes that were moved leave dead rows in the log, which a transaction that stays open keeps there. So the log has
-- segments, and readers skip those that are closed: no writer can add to them, and all of their changes were moved.

create table "list_sources" (
	"name" text collate "C" primary key, -- a table whose rows are counted
	"parts" text[] not null -- the filters of its list; a value with more than 2000 rows gets counts of its own
);
--> statement-breakpoint
-- Fillfactor: an update stays in its page (HOT) while the page has free space.
create table "list_counts" (
	"source" text collate "C" not null,
	"part" text collate "C" not null, -- '' is the whole table, 'status=draft' the rows of one filter
	"level" integer not null, -- 0 is a block, 1 a group, 2 the list
	"first" uuid not null,
	"amount" bigint not null,
	primary key ("source", "part", "level", "first")
) with (fillfactor = 70);
--> statement-breakpoint
create table "list_log" (
	"source" text collate "C" not null,
	"segment" integer not null,
	"id" uuid not null,
	"parts" text[] not null, -- the parts that the row belongs to
	"change" smallint not null -- 1: a row was added, -1: a row was removed
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
--> statement-breakpoint
create index "list_log_index" on "list_log" using btree ("source", "segment");
--> statement-breakpoint
-- Its last value is the segment that new transactions write to. All sessions see it at once, whatever their snapshot.
create sequence "list_segments" as integer;
--> statement-breakpoint
select nextval('list_segments');
--> statement-breakpoint
-- Segments up to `folded` are closed, except those in `open`. The key is for the planner, which knows no table of one row.
create table "list_state" (
	"one" boolean primary key default true check ("one"),
	"folded" integer default 0 not null,
	"open" integer[] default '{}' not null
) with (fillfactor = 20);
--> statement-breakpoint
insert into "list_state" default values;
--> statement-breakpoint

-- The segment that this transaction writes to. Its shared lock keeps the segment open until the transaction ends. A lock and
-- a setting that were taken after a savepoint are undone together.
create function list_segment() returns integer language plpgsql as $$
declare
	segment integer := nullif(current_setting('list.segment', true), '');
begin
	if segment is not null then return segment; end if;
	loop
		segment := pg_sequence_last_value('public.list_segments');
		if pg_try_advisory_xact_lock_shared(7283453, segment) then
			-- Otherwise a fold may have closed the segment before this transaction had the lock.
			exit when segment = pg_sequence_last_value('public.list_segments');
		else
			perform nextval('public.list_segments');
		end if;
	end loop;
	return set_config('list.segment', segment::text, true);
end $$;
--> statement-breakpoint
-- The changes of a list that are in the log, and where they are.
create function list_pending(of_source text, of_part text) returns table (place tid, id uuid, change smallint) language sql stable as $$
	select entry.ctid, entry.id, entry.change from public.list_state as state cross join lateral (
		select ctid, * from public.list_log where source = of_source and segment > state.folded
		union all
		select ctid, * from public.list_log where source = of_source and segment = any (state.open)
	) as entry
	where state.one and (of_part = '' or of_part = any (entry.parts))
$$;
--> statement-breakpoint
-- The condition for the rows of a part, as text for the dynamic statements below.
create function list_condition(of_part text) returns text language sql immutable as $$
	select case when of_part = '' then 'true'
		else format('%I = %L', split_part(of_part, '=', 1), substr(of_part, strpos(of_part, '=') + 1)) end
$$;
--> statement-breakpoint
-- Replaces the nodes of a level from the first id of `node` up to `until`: blocks are counted, others summed.
create function list_rebuild(node list_counts, until uuid) returns void language plpgsql set search_path = public as $$
declare
	entries text := case node.level when 0
		then format('select id, 1 as amount from %I where %s and id >= $4 and id < $5
			union all select id, -change from list_pending($1, $2) where id >= $4 and id < $5', node.source, list_condition(node.part))
		else 'select first as id, amount from list_counts where source = $1 and part = $2 and level = $3 - 1 and first >= $4 and first < $5' end;
begin
	delete from list_counts where source = node.source and part = node.part and level = node.level and first >= node.first and first < until;
	-- One statement, because the rows and the changes in the log must be of the same snapshot.
	execute format('insert into list_counts
		select $1, $2, $3, (array_agg(id order by id))[1], sum(amount) from (
			select id, amount, (dense_rank() over (order by id) - 1) / $6 as piece
			from (select $4 as id, 0 as amount union all %s) as entry
		) as numbered group by piece', entries)
	using node.source, node.part, node.level, node.first, until, (array[1024, 128, 2147483647])[node.level + 1];
end $$;
--> statement-breakpoint
create function list_build(of_source text, of_part text) returns void language plpgsql set search_path = public as $$
begin
	for l in 0..2 loop
		perform list_rebuild((of_source, of_part, l, '00000000-0000-0000-0000-000000000000', 0), 'ffffffff-ffff-ffff-ffff-ffffffffffff');
	end loop;
end $$;
--> statement-breakpoint
-- The first id of the next node on the same level. RFC 9562 reserves the highest id, so it is never one.
create function list_end(node list_counts) returns uuid language sql stable set search_path = public as $$
	select coalesce((
		select first from list_counts where source = node.source and part = node.part and level = node.level and first > node.first
		order by first limit 1), 'ffffffff-ffff-ffff-ffff-ffffffffffff')
$$;
--> statement-breakpoint
-- Splits a block that is too large, and then its group if that has too many blocks.
create function list_split(node list_counts) returns void language plpgsql set search_path = public as $$
declare
	parent list_counts;
begin
	perform list_rebuild(node, list_end(node));
	select * into parent from list_counts
		where source = node.source and part = node.part and level = 1 and first <= node.first order by first desc limit 1;
	if 256 < (select count(*) from list_counts where source = node.source and part = node.part and level = 0
		and first >= parent.first and first < list_end(parent))
	then
		perform list_rebuild(parent, list_end(parent));
	end if;
end $$;
--> statement-breakpoint
-- Counts a table again, while others read and write. The caller holds the lock of a fold.
create function list_recount(of_source text) returns void language plpgsql set search_path = public as $$
declare
	of_column text;
	of_part text;
begin
	if current_setting('transaction_isolation') <> 'read committed' then
		raise exception 'Counting needs read committed' using errcode = 'invalid_transaction_state';
	end if;
	delete from list_counts where source = of_source;
	perform list_build(of_source, '');
	for of_column in select unnest(parts) from list_sources where name = of_source loop
		for of_part in execute format('select %L || %I from %I where %2$I is not null group by %2$I having count(*) > 2000', of_column || '=', of_column, of_source) loop
			perform list_build(of_source, of_part);
		end loop;
	end loop;
end $$;
--> statement-breakpoint
-- Moves changes from the log to the nodes, at most `portion`, and returns how many; fewer than `fewest` stay where they are. It
-- tries its locks and waits for none; of several calls at once, one moves. The settings are for plans that fit any amount.
create function list_fold(portion integer, fewest integer) returns integer language plpgsql
set search_path = public set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off set work_mem = '64MB' as $$
declare
	state list_state;
	newest integer;
	closed integer[];
	waiting bigint;
	bulk text;
	moved integer;
	changed list_counts[];
	candidates list_counts[];
	node list_counts;
	large boolean;
begin
	if current_setting('transaction_isolation') <> 'read committed' then
		raise exception 'list_fold needs read committed' using errcode = 'invalid_transaction_state';
	end if;
	-- The locks do not keep a transaction from closing the segment that it writes to.
	if current_setting('list.segment', true) <> '' or not pg_try_advisory_xact_lock(7283452) then return 0; end if;
	-- A copy without the sequence, as logical replication makes it: its log begins again.
	update list_state set folded = 0, open = '{}' where one and folded >= pg_sequence_last_value('list_segments');
	select * into state from list_state where one;
	select sum(changes), max(name) filter (where changes > 10 * portion) into waiting, bulk from (
		select name, (select count(*) from (select from list_pending(name, '') limit 10 * portion + 1) as few) as changes from list_sources) as each_source;
	if waiting < fewest then return 0; end if;
	-- A bulk load: its rows are counted faster than its changes are moved.
	if bulk is not null then
		delete from list_log where source = bulk and (segment > state.folded or segment = any (state.open));
		perform list_recount(bulk);
		return portion;
	end if;
	newest := nextval('list_segments') - 1;
	closed := array(select segment from (select unnest(state.open) union all select generate_series(state.folded + 1, newest)) as old (segment)
		where pg_try_advisory_xact_lock(7283453, segment));

	with gone as (
		delete from list_log where ctid = any (array(
			select place from list_sources cross join lateral list_pending(name, '') limit portion))
		returning source, id, parts, change
	), lists as (
		select source, part, array_agg(id order by id) as ids, array_agg(change order by id) as changes, sum(change) as change,
			(select first from list_counts c where c.source = entry.source and c.part = entry.part and level = 2) is not null as counted
		from (select source, '' as part, id, change from gone union all select source, unnest(parts), id, change from gone) as entry
		group by source, part
	), blocks as ( -- nearly always one for each list, because rows are added at the end
		select source, part, firsts[width_bucket(entry.id, firsts)] as first, sum(entry.change) as change
		from lists cross join lateral (
			select first as lowest from list_counts c where c.source = lists.source and c.part = lists.part and level = 0 and first <= ids[1]
			order by first desc limit 1
		) as low cross join lateral (
			select array_agg(first order by first) as firsts from list_counts c
			where c.source = lists.source and c.part = lists.part and level = 0 and first between lowest and ids[cardinality(ids)]
		) as range cross join lateral unnest(ids, changes) as entry (id, change)
		where counted group by 1, 2, 3
	), parents as ( -- found by the first id of the block, which may have grown over a dropped neighbour
		select source, part, l as level, parent.first, sum(change) as change
		from blocks cross join generate_series(1, 2) as l cross join lateral (
			select first from list_counts c where c.source = blocks.source and c.part = blocks.part and level = l and first <= blocks.first
			order by first desc limit 1) as parent
		group by source, part, l, parent.first
	), updated as (
		update list_counts c set amount = c.amount + entry.change
		from (select source, part, 0 as level, first, change from blocks union all select * from parents) as entry
		where c.source = entry.source and c.part = entry.part and c.level = entry.level and c.first = entry.first and entry.change <> 0
		returning c
	)
	select
		(select count(*) from gone),
		(select array_agg(c) from updated where (c).amount = 0 or (c).amount > 2048 and (c).level = 0),
		-- A random sample finds large parts before long; a bulk insert is noticed at once.
		(select array_agg((source, part, 2, null, 0)::list_counts) from (
			select source, part from lists where not counted and change > 0 order by change > 500 desc, random() limit 5) as part)
	into moved, changed, candidates;
	update list_state set folded = newest, open = array(
		select segment from (select unnest(state.open) union all select generate_series(state.folded + 1, newest)) as old (segment)
		where segment <> all (closed) or exists (select from list_sources s join list_log l on l.source = s.name and l.segment = old.segment))
	where one;

	foreach node in array coalesce(changed, '{}') loop
		if node.amount > 0 then
			perform list_split(node);
		elsif node.level = 2 and node.part <> '' then
			delete from list_counts where source = node.source and part = node.part;
		elsif node.first > '00000000-0000-0000-0000-000000000000' then
			-- The node before it grows over its range.
			delete from list_counts where source = node.source and part = node.part and level = node.level and first = node.first and amount = 0;
		end if;
	end loop;
	foreach node in array coalesce(candidates, '{}') loop
		execute format('select count(*) > 2000 from (select from %I where %s limit 2001) as few', node.source, list_condition(node.part)) into large;
		if large then perform list_build(node.source, node.part); end if;
	end loop;
	return moved;
end $$;
--> statement-breakpoint
-- `npm run repair`. Needed only after writes with disabled triggers. It fails after a while instead of waiting for a forgotten
-- transaction.
create function list_repair() returns void language plpgsql set search_path = public set lock_timeout = '10s' as $$
begin
	perform pg_advisory_xact_lock(7283452);
	perform list_recount(name) from list_sources;
end $$;
--> statement-breakpoint
create function list_refuse_truncate() returns trigger language plpgsql as $$
begin
	raise exception 'truncate % would leave wrong totals: use delete', tg_table_name using errcode = 'feature_not_supported';
end $$;
--> statement-breakpoint
-- Keeps totals for a table from now on, as a whole and by the values of these columns. It writes a trigger function for the
-- table, whose plans are kept. Writers wait while the rows that are there are counted: about a second for a million.
create function list_watch(source text, parts text[]) returns void language plpgsql set search_path = public as $$
declare
	entry text := format('%L, segment, %%1$s.id, array_remove(array[%s]::text[], null)', source,
		(select string_agg(format('%L || %%1$s.%I', part || '=', part), ', ') from unnest(parts) as part));
	moved text := (select string_agg(format('old.%1$I is distinct from new.%1$I', name), ' or ') from unnest(array['id'] || parts) as name);
	log_changes text := quote_ident('log_changes_of_' || source);
begin
	perform pg_advisory_xact_lock(7283452); -- before the lock of the table, so that no writer waits behind a fold
	execute format('create function %s() returns trigger language plpgsql as $body$
		declare
			segment constant integer := public.list_segment();
		begin
			if tg_op = ''INSERT'' then
				insert into public.list_log select %s, 1 from after_rows;
			elsif tg_op = ''DELETE'' then
				insert into public.list_log select %s, -1 from before_rows;
			else
				insert into public.list_log values (%s, -1), (%s, 1);
			end if;
			return null;
		end $body$', log_changes, format(entry, 'after_rows'), format(entry, 'before_rows'), format(entry, 'old'), format(entry, 'new'));
	execute format('create trigger list_inserted after insert on %I referencing new table as after_rows for each statement execute function %s()', source, log_changes);
	execute format('create trigger list_deleted after delete on %I referencing old table as before_rows for each statement execute function %s()', source, log_changes);
	execute format('create trigger list_moved after update on %I for each row when (%s) execute function %s()', source, moved, log_changes);
	execute format('create trigger list_truncated before truncate on %I for each statement execute function list_refuse_truncate()', source);
	insert into list_sources values (source, parts);
	perform list_recount(source);
end $$;
--> statement-breakpoint
select list_watch('users', '{}'), list_watch('posts', '{status,author_id}');
--> statement-breakpoint
-- The total of a list, and the start of a page that skips this many rows: `rest` rows after `bound`, or before it if backward.
-- For a part without counts all columns but `rest` are null. The function uses the snapshot of the statement that calls it.
-- Planning for each value would take longer than the rest. Only index scans, because a plan made for an empty table is kept: it
-- would read dead rows, or sort all blocks.
create function list_place(of_source text, of_part text, skip bigint, backward boolean, out total bigint, out bound uuid, out rest bigint)
language plpgsql stable
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off as $$
declare
	lowest constant uuid := '00000000-0000-0000-0000-000000000000';
	highest constant uuid := 'ffffffff-ffff-ffff-ffff-ffffffffffff';
	came bigint;
	went bigint;
	target bigint;
	passed bigint := 0;
	amount_there bigint;
begin
	rest := skip;
	select amount into total from public.list_counts where source = of_source and part = of_part and level = 2;
	if not found then return; end if;
	select coalesce(sum(change) filter (where change > 0), 0), coalesce(-sum(change) filter (where change < 0), 0) into came, went
		from public.list_pending(of_source, of_part);
	total := total + came - went;
	bound := case when backward then highest else lowest end;
	if skip < 256 then return; end if;
	if skip >= total then
		bound := case when backward then lowest else highest end;
		rest := 0;
		return;
	end if;
	-- Only the nodes guide the walk, so it must stop early enough for the changes in the log.
	target := case when backward then total - skip + went - 1 else skip - came end;
	if target < 0 or target >= total - came + went then return; end if;
	bound := lowest;
	for l in reverse 1..0 loop
		select node.first, node.amount, passed + node.before into bound, amount_there, passed from (
			select first, amount, sum(amount) over (order by first rows unbounded preceding) - amount as before
			from public.list_counts where source = of_source and part = of_part and level = l and first >= bound
		) as node where passed + node.before + node.amount > target order by node.first limit 1;
	end loop;
	if backward then
		passed := passed + amount_there;
		bound := public.list_end((of_source, of_part, 0, bound, 0));
	end if;
	select passed + coalesce(sum(change), 0) into passed from public.list_pending(of_source, of_part) where id < bound;
	rest := case when backward then passed - (total - skip) else skip - passed end;
end $$;
