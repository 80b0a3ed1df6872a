-- Exact totals and the start of any page, without counting rows.
--
-- A list is ordered by id, which is the order of creation. For each list, `list_counts` holds a tree: blocks of at most 2048
-- rows, groups of at most 64 blocks, groups of at most 64 of those, and the root. Each node has its first id and its number
-- of rows; it ends where its neighbour starts. Finding the millionth row is a walk down the tree.
--
-- Writers never update the tree, because they would lock its nodes until they commit (21,700 inserts a second became 3,800).
-- They only append to `list_changes`. About every 128th statement folds the committed changes into the tree when it commits,
-- unless another session is folding. A reader adds the tree and the unfolded changes in one snapshot. So
--     amount of a node  =  rows in its range  -  unfolded changes in its range
-- holds in every snapshot, whatever is rolled back or still open, and `list_level` rebuilds any part of the tree from it.
--
-- This migration locks users and posts against writers while it counts the rows: about a second for a million.

create table "list_sources" (
	"name" text collate "C" primary key, -- a table whose rows are counted
	"parts" text[] not null, -- the filters of its list; a value of more than 2000 rows gets its own tree
	"horizon" xid8 default '0' not null -- all changes by transactions before this one are folded or rolled back
);
--> statement-breakpoint
-- Fillfactor: an update stays in its page (HOT) while the page has free space.
create table "list_counts" (
	"source" text collate "C" not null,
	"part" text collate "C" not null, -- '' is the whole table, 'status=draft' the rows of one filter
	"level" smallint not null, -- 0 is a block, 3 the root
	"first" uuid not null,
	"amount" bigint not null,
	primary key ("source", "part", "level", "first")
) with (fillfactor = 70);
--> statement-breakpoint
create table "list_changes" (
	"source" text collate "C" not null,
	"xid" xid8 default pg_current_xact_id() not null,
	"id" uuid not null,
	"parts" text[] not null, -- the parts that the row belongs to
	"change" smallint not null -- 1: a row was added, -1: a row was removed
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
--> statement-breakpoint
-- Folded changes stay in the index as dead entries until the next vacuum. A reader starts at the horizon and skips them.
create index "list_changes_index" on "list_changes" using btree ("source", "xid");
--> statement-breakpoint
-- A statement that finds a fold due adds a row here, and a trigger folds at commit. This is a separate table because a
-- trigger on `list_changes` would cost every statement 8 us.
create table "list_due" (
	"source" text collate "C" not null,
	"bulk" boolean not null -- so many changes that they would slow down every reader
);
--> statement-breakpoint

-- The conditions for a part and for a range of ids, as text for the dynamic statements below.
create function list_condition(of_part text) returns text language sql immutable as $$
	select case when of_part = '' then 'true'
		else format('%I = %L', split_part(of_part, '=', 1), substr(of_part, strpos(of_part, '=') + 1)) end
$$;
--> statement-breakpoint
create function list_range(of_column text, since uuid, until uuid) returns text language sql immutable as $$
	select format('%I >= %L', of_column, since) || case when until is null then '' else format(' and %I < %L', of_column, until) end
$$;
--> statement-breakpoint
-- A horizon in the future was copied from another server with higher transaction ids: it is ignored.
create function list_horizon(of_source text) returns xid8 language sql stable set search_path = public as $$
	select case when horizon <= pg_snapshot_xmax(pg_current_snapshot()) then horizon else '0' end from list_sources where name = of_source
$$;
--> statement-breakpoint
-- Rebuilds the nodes of one level from `since` up to `until`: blocks from the table, other levels from the one below.
create function list_level(of_source text, of_part text, of_level int, since uuid, until uuid) returns void
language plpgsql set search_path = public as $$
declare
	entries text := case when of_level > 0
		then format('select first as id, amount from list_counts where source = %L and part = %L and level = %s and %s',
			of_source, of_part, of_level - 1, list_range('first', since, until))
		else format('select %L::uuid as id, 0 as amount
			union all select id, 1 from %I where %s and %s
			union all select id, -change from list_changes where source = %L and xid >= (select list_horizon(%L))
				and %s and %s',
			since, of_source, list_condition(of_part), list_range('id', since, until), of_source, of_source,
			case when of_part = '' then 'true' else format('%L = any (parts)', of_part) end, list_range('id', since, until)) end;
begin
	delete from list_counts where source = of_source and part = of_part and level = of_level
		and first >= since and (until is null or first < until);
	-- One statement, because the rows and the unfolded changes must be of the same snapshot.
	execute format('insert into list_counts
		select $1, $2, $3, (array_agg(id order by id))[1], sum(amount)
		from (select id, amount, (dense_rank() over (order by id) - 1) / $4 as piece from (%s) as entry) as numbered
		group by piece', entries)
	using of_source, of_part, of_level, case of_level when 0 then 1024 when 3 then 2147483647 else 32 end;
end $$;
--> statement-breakpoint
-- Builds the tree of a list from the bottom up.
create function list_build(of_source text, of_part text) returns void language plpgsql set search_path = public as $$
begin
	for l in 0..3 loop
		perform list_level(of_source, of_part, l, '00000000-0000-0000-0000-000000000000', null);
	end loop;
end $$;
--> statement-breakpoint
-- The next node on the same level, or null.
create function list_next(of_source text, of_part text, of_level int, after uuid) returns uuid language sql stable set search_path = public as $$
	select first from list_counts where source = of_source and part = of_part and level = of_level and first > after order by first limit 1
$$;
--> statement-breakpoint
-- Splits a node that is too large into two or more, and then its parent if that has too many children.
create function list_split(of_source text, of_part text, of_level int, of_first uuid) returns void
language plpgsql set search_path = public as $$
declare
	parent uuid;
	until uuid;
begin
	perform list_level(of_source, of_part, of_level, of_first, list_next(of_source, of_part, of_level, of_first));
	if of_level = 2 then return; end if;
	select first into parent from list_counts
		where source = of_source and part = of_part and level = of_level + 1 and first <= of_first order by first desc limit 1;
	until := list_next(of_source, of_part, of_level + 1, parent);
	if 64 < (select count(*) from list_counts where source = of_source and part = of_part and level = of_level
		and first >= parent and (until is null or first < until))
	then
		perform list_split(of_source, of_part, of_level + 1, parent);
	end if;
end $$;
--> statement-breakpoint
-- Removes an empty node and its descendants; the previous neighbour takes over its range. A first child stays as long as its
-- parent. Otherwise a list whose oldest rows are always deleted would accumulate empty nodes.
create function list_drop(node list_counts) returns void language plpgsql set search_path = public as $$
declare
	until uuid := list_next(node.source, node.part, node.level, node.first);
begin
	if exists (select from list_counts where source = node.source and part = node.part and level = node.level + 1 and first = node.first)
	then return; end if;
	delete from list_counts where source = node.source and part = node.part and level <= node.level
		and first >= node.first and (until is null or first < until);
end $$;
--> statement-breakpoint
-- Builds the missing tree of a part with more than 2000 rows.
create function list_adopt(of_source text, of_part text) returns void language plpgsql set search_path = public as $$
declare
	large boolean;
begin
	if exists (select from list_counts where source = of_source and part = of_part and level = 3) then return; end if;
	execute format('select exists (select from %I where %s offset 2000)', of_source, list_condition(of_part)) into large;
	if large then perform list_build(of_source, of_part); end if;
end $$;
--> statement-breakpoint
-- Adds the changes to the tree. The caller must hold the lock 7283452 and have a snapshot that sees everything committed, and
-- no statement of its transaction may be unfinished: see `list_fold_when_due`.
create function list_fold(of_source text) returns void
language plpgsql set search_path = public set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
	oldest xid8 := list_horizon(of_source);
	node list_counts;
	grown list_counts[];
	empty list_counts[];
	candidate text;
	candidates text[];
begin
	with gone as (
		delete from list_changes where source = of_source and xid >= oldest returning id, parts, change
	), done as (
		delete from list_due where source = of_source
	), moved_horizon as (
		update list_sources set horizon = pg_snapshot_xmin(pg_current_snapshot()) where name = of_source
	), single as ( -- a change of status adds and removes the row in the whole table
		select part, id, sum(change) as change
		from (select '' as part, id, change from gone union all select unnest(parts), id, change from gone) as each_part
		group by part, id having sum(change) <> 0
	), blocks as ( -- a part without a tree matches no block
		select part, block.first, sum(change) as change from single
		cross join lateral (
			select first from list_counts c where source = of_source and c.part = single.part and level = 0 and first <= id
			order by first desc limit 1) as block
		group by part, block.first
	), parents as (
		select part, l as level, parent.first, sum(change) as change from blocks cross join generate_series(1, 3) as l
		cross join lateral (
			select first from list_counts c where source = of_source and c.part = blocks.part and level = l and first <= blocks.first
			order by first desc limit 1) as parent
		group by part, l, parent.first
	), counted as (
		update list_counts c set amount = c.amount + nodes.change
		from (select part, 0 as level, first, change from blocks union all select * from parents) as nodes
		where c.source = of_source and c.part = nodes.part and c.level = nodes.level and c.first = nodes.first and nodes.change <> 0
		returning c as node
	)
	select
		(select array_agg(c.node) from counted c where (c.node).level = 0 and (c.node).amount > 2048),
		(select array_agg(c.node order by (c.node).level desc) from counted c where (c.node).amount = 0),
		-- A random sample finds large authors before long; a bulk insert is noticed at once.
		(select array_agg(part) from (
			(select part from single where part <> '' group by part having sum(change) > 500)
			union (select part from single where part <> '' order by random() limit 1)) as met)
	into grown, empty, candidates;

	foreach node in array coalesce(grown, '{}') loop
		perform list_split(of_source, node.part, 0, node.first);
	end loop;
	foreach node in array coalesce(empty, '{}') loop
		if node.level < 3 then perform list_drop(node);
		elsif node.part <> '' then delete from list_counts where source = of_source and part = node.part;
		end if;
	end loop;
	foreach candidate in array coalesce(candidates, '{}') loop
		perform list_adopt(of_source, candidate);
	end loop;
end $$;
--> statement-breakpoint
-- A deferred trigger, so it runs at commit: the lock is held only briefly, however long the transaction was, and all changes
-- are recorded. A transaction with an old snapshot (repeatable read) leaves the fold to the next one. Only a bulk change waits
-- for the lock, without a limit; no holder of the lock waits for it, except a truncate, which runs alone.
create function list_fold_when_due() returns trigger language plpgsql set lock_timeout = 0 as $$
begin
	if current_setting('transaction_isolation') <> 'read committed' then return null; end if;
	if new.bulk then perform pg_advisory_xact_lock(7283452);
	elsif not pg_try_advisory_xact_lock(7283452) then return null;
	end if;
	perform public.list_fold(new.source);
	return null;
end $$;
--> statement-breakpoint
create constraint trigger list_due_fold after insert on list_due deferrable initially deferred
	for each row execute function list_fold_when_due();
--> statement-breakpoint
-- Records the changes of a statement to users. An update matters only if it moves a row between parts; for users none does.
create function users_changed() returns trigger language plpgsql as $$
declare
	changes bigint;
begin
	case tg_op
	when 'INSERT' then
		insert into public.list_changes (source, id, parts, change) select 'users', id, '{}', 1 from after_rows;
	when 'DELETE' then
		insert into public.list_changes (source, id, parts, change) select 'users', id, '{}', -1 from before_rows;
	else
		insert into public.list_changes (source, id, parts, change)
		select 'users', id, '{}', sum(change)
		from (select -1 as change, id from before_rows union all select 1, id from after_rows) as moved
		group by id having sum(change) <> 0;
	end case;
	get diagnostics changes = row_count;
	if random() * 128 < changes then insert into public.list_due values ('users', changes > 1000); end if;
	return null;
end $$;
--> statement-breakpoint
create function posts_changed() returns trigger language plpgsql as $$
declare
	changes bigint;
begin
	case tg_op
	when 'INSERT' then
		insert into public.list_changes (source, id, parts, change)
		select 'posts', id, array['status=' || status, 'author_id=' || author_id], 1 from after_rows;
	when 'DELETE' then
		insert into public.list_changes (source, id, parts, change)
		select 'posts', id, array['status=' || status, 'author_id=' || author_id], -1 from before_rows;
	else
		insert into public.list_changes (source, id, parts, change)
		select 'posts', id, array['status=' || status, 'author_id=' || author_id], sum(change)
		from (select -1 as change, id, status, author_id from before_rows union all select 1, id, status, author_id from after_rows) as moved
		group by id, status, author_id having sum(change) <> 0;
	end case;
	get diagnostics changes = row_count;
	if random() * 128 < changes then insert into public.list_due values ('posts', changes > 1000); end if;
	return null;
end $$;
--> statement-breakpoint
-- A truncate runs alone: its lock excludes all other access to the table.
create function list_truncated() returns trigger language plpgsql as $$
begin
	perform pg_advisory_xact_lock(7283452);
	delete from public.list_changes where source = tg_table_name;
	delete from public.list_counts where source = tg_table_name;
	perform public.list_build(tg_table_name, '');
	return null;
end $$;
--> statement-breakpoint
create trigger users_inserted after insert on users referencing new table as after_rows for each statement execute function users_changed();
--> statement-breakpoint
create trigger users_updated after update on users referencing old table as before_rows new table as after_rows for each statement execute function users_changed();
--> statement-breakpoint
create trigger users_deleted after delete on users referencing old table as before_rows for each statement execute function users_changed();
--> statement-breakpoint
create trigger users_truncated after truncate on users for each statement execute function list_truncated();
--> statement-breakpoint
create trigger posts_inserted after insert on posts referencing new table as after_rows for each statement execute function posts_changed();
--> statement-breakpoint
create trigger posts_updated after update on posts referencing old table as before_rows new table as after_rows for each statement execute function posts_changed();
--> statement-breakpoint
create trigger posts_deleted after delete on posts referencing old table as before_rows for each statement execute function posts_changed();
--> statement-breakpoint
create trigger posts_truncated after truncate on posts for each statement execute function list_truncated();
--> statement-breakpoint
-- Folds the current changes. Each start of the service calls it, so that a copied horizon is soon replaced.
create function list_refresh() returns void language plpgsql set search_path = public as $$
begin
	perform pg_advisory_xact_lock(7283452);
	perform list_fold(name) from list_sources;
end $$;
--> statement-breakpoint
-- Rebuilds every tree while the service runs: `npm run repair`. Needed only after writes with disabled triggers.
create function list_repair() returns void language plpgsql set search_path = public as $$
declare
	of_source text;
	of_column text;
	of_part text;
begin
	perform pg_advisory_xact_lock(7283452);
	delete from list_counts;
	for of_source in select name from list_sources loop
		perform list_build(of_source, '');
		for of_column in select unnest(parts) from list_sources where name = of_source loop
			for of_part in execute format('select %L || %I from %I group by %I having count(*) > 2000', of_column || '=', of_column, of_source, of_column) loop
				perform list_build(of_source, of_part);
			end loop;
		end loop;
	end loop;
end $$;
--> statement-breakpoint
insert into list_sources (name, parts) values ('users', '{}'), ('posts', '{status,author_id}');
--> statement-breakpoint
select list_repair();
--> statement-breakpoint
-- The total of a list, and the start of a page that skips this many rows: `rest` rows after `bound`, or before it if backward.
-- Without a tree all columns but `rest` are null. The function uses the snapshot of the statement that calls it.
-- Sequential scans are disabled, because a plan made for an empty table would be kept.
create function list_place(of_source text, of_part text, skip bigint, backward boolean, out total bigint, out bound uuid, out rest bigint)
language plpgsql stable set enable_seqscan = off as $$
declare
	lowest constant uuid := '00000000-0000-0000-0000-000000000000';
	highest constant uuid := 'ffffffff-ffff-ffff-ffff-ffffffffffff'; -- RFC 9562 reserves it, so it is never an id
	oldest xid8;
	came bigint;
	went bigint;
	target bigint;
	passed bigint := 0;
	node record;
begin
	rest := skip;
	select c.amount, case when s.horizon <= pg_snapshot_xmax(pg_current_snapshot()) then s.horizon else '0' end into total, oldest
		from public.list_counts c join public.list_sources s on s.name = c.source
		where c.source = of_source and c.part = of_part and c.level = 3;
	if not found then return; end if;
	select coalesce(sum(change) filter (where change > 0), 0), coalesce(-sum(change) filter (where change < 0), 0) into came, went
		from public.list_changes where source = of_source and xid >= oldest and (of_part = '' or of_part = any (parts));
	total := total + came - went;
	bound := case when backward then highest else lowest end;
	if skip < 256 then return; end if;
	if skip >= total then
		bound := case when backward then lowest else highest end;
		rest := 0;
		return;
	end if;
	-- Only the tree guides the walk, so it must stop early enough for the changes that are not in the tree.
	target := case when backward then total - skip + went - 1 else skip - came end;
	if target < 0 or target >= total - came + went then return; end if;
	bound := lowest;
	for l in reverse 2..0 loop
		for node in
			select first, amount from public.list_counts
			where source = of_source and part = of_part and level = l and first >= bound order by first
		loop
			bound := node.first;
			exit when passed + node.amount > target;
			passed := passed + node.amount;
		end loop;
	end loop;
	if backward then
		passed := passed + node.amount;
		bound := coalesce(public.list_next(of_source, of_part, 0, bound), highest);
	end if;
	select passed + coalesce(sum(change), 0) into passed
		from public.list_changes where source = of_source and xid >= oldest and (of_part = '' or of_part = any (parts)) and id < bound;
	rest := case when backward then passed - (total - skip) else skip - passed end;
end $$;
