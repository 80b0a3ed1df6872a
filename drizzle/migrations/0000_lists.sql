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
-- The words of a text, for searches: runs of letters with their marks and of digits, in lower case, each cut to 200 characters.
-- ASCII is always in lower case, other letters as far as the database knows them; a final sigma is a sigma. The letters, marks
-- and digits are those of Unicode 17 by code point, because classes of characters depend on the collation of the database.
create function search_words(value text) returns text[] language plpgsql immutable strict parallel safe cost 1000 as $$
declare
	separators constant text :=
		'[^0-9A-Za-z\u00aa\u00b5\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02c1\u02c6-\u02d1\u02e0-\u02e4\u02ec\u02ee'
		'\u0300-\u0374\u0376-\u037d\u037f\u0386\u0388-\u03f5\u03f7-\u0481\u0483-\u0559\u0560-\u0588\u0591-\u05bd\u05bf'
		'\u05c1\u05c2\u05c4\u05c5\u05c7-\u05f2\u0610-\u061a\u0620-\u0669\u066e-\u06d3\u06d5-\u06dc\u06df-\u06e8\u06ea-\u06fc'
		'\u06ff\u0710-\u07f5\u07fa-\u07fd\u0800-\u082d\u0840-\u085b\u0860-\u0887\u0889-\u088f\u0897-\u08e1\u08e3-\u0963'
		'\u0966-\u096f\u0971-\u09f1\u09fc\u09fe-\u0a75\u0a81-\u0aef\u0af9-\u0b6f\u0b71\u0b82-\u0bef\u0c00-\u0c6f\u0c80-\u0c83'
		'\u0c85-\u0d4e\u0d54-\u0d57\u0d5f-\u0d6f\u0d7a-\u0df3\u0e01-\u0e3a\u0e40-\u0e4e\u0e50-\u0e59\u0e81-\u0f00\u0f18\u0f19'
		'\u0f20-\u0f29\u0f35\u0f37\u0f39\u0f3e-\u0f84\u0f86-\u0fbc\u0fc6\u1000-\u1049\u1050-\u109d\u10a0-\u10fa\u10fc-\u135f'
		'\u1380-\u138f\u13a0-\u13fd\u1401-\u166c\u166f-\u167f\u1681-\u169a\u16a0-\u16ea\u16f1-\u1734\u1740-\u17d3\u17d7'
		'\u17dc-\u17e9\u180b-\u180d\u180f-\u193b\u1946-\u19d9\u1a00-\u1a1b\u1a20-\u1a99\u1aa7\u1ab0-\u1b4c\u1b50-\u1b59'
		'\u1b6b-\u1b73\u1b80-\u1bf3\u1c00-\u1c37\u1c40-\u1c7d\u1c80-\u1cbf\u1cd0-\u1cd2\u1cd4-\u1fbc\u1fbe\u1fc2-\u1fcc'
		'\u1fd0-\u1fdb\u1fe0-\u1fec\u1ff2-\u1ffc\u2071\u207f\u2090-\u209c\u20d0-\u20f0\u2102\u2107\u210a-\u2113\u2115'
		'\u2119-\u211d\u2124\u2126\u2128\u212a-\u212d\u212f-\u2139\u213c-\u213f\u2145-\u2149\u214e\u2183\u2184\u2c00-\u2ce4'
		'\u2ceb-\u2cf3\u2d00-\u2d6f\u2d7f-\u2dff\u2e2f\u3005\u3006\u302a-\u302f\u3031-\u3035\u303b\u303c\u3041-\u309a'
		'\u309d-\u309f\u30a1-\u30fa\u30fc-\u318e\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\ua48c\ua4d0-\ua4fd'
		'\ua500-\ua60c\ua610-\ua672\ua674-\ua67d\ua67f-\ua6e5\ua6f0\ua6f1\ua717-\ua71f\ua722-\ua788\ua78b-\ua827\ua82c'
		'\ua840-\ua873\ua880-\ua8c5\ua8d0-\ua8f7\ua8fb\ua8fd-\ua92d\ua930-\ua953\ua960-\ua9c0\ua9cf-\ua9d9\ua9e0-\uaa59'
		'\uaa60-\uaa76\uaa7a-\uaadd\uaae0-\uaaef\uaaf2-\uab5a\uab5c-\uab69\uab70-\uabea\uabec-\ud7fb\uf900-\ufb28'
		'\ufb2a-\ufbb1\ufbd3-\ufd3d\ufd50-\ufd8f\ufd92-\ufdc7\ufdf0-\ufdfb\ufe00-\ufe0f\ufe20-\ufe2f\ufe70-\ufefc'
		'\uff10-\uff19\uff21-\uff3a\uff41-\uff5a\uff66-\uffdc\U00010000-\U000100fa\U000101fd-\U000102e0\U00010300-\U0001031f'
		'\U0001032d-\U00010340\U00010342-\U00010349\U00010350-\U0001039d\U000103a0-\U000103cf\U00010400-\U00010563'
		'\U00010570-\U00010855\U00010860-\U00010876\U00010880-\U0001089e\U000108e0-\U000108f5\U00010900-\U00010915'
		'\U00010920-\U00010939\U00010940-\U000109b7\U000109be\U000109bf\U00010a00-\U00010a3f\U00010a60-\U00010a7c'
		'\U00010a80-\U00010a9c\U00010ac0-\U00010ac7\U00010ac9-\U00010ae6\U00010b00-\U00010b35\U00010b40-\U00010b55'
		'\U00010b60-\U00010b72\U00010b80-\U00010b91\U00010c00-\U00010cf2\U00010d00-\U00010d6d\U00010d6f-\U00010d85'
		'\U00010e80-\U00010eac\U00010eb0-\U00010ec7\U00010efa-\U00010f1c\U00010f27-\U00010f50\U00010f70-\U00010f85'
		'\U00010fb0-\U00010fc4\U00010fe0-\U00011046\U00011066-\U000110ba\U000110c2\U000110d0-\U0001113f\U00011144-\U00011173'
		'\U00011176-\U000111c4\U000111c9-\U000111cc\U000111ce-\U000111da\U000111dc\U00011200-\U00011237\U0001123e-\U000112a8'
		'\U000112b0-\U000113d3\U000113e1-\U0001144a\U00011450-\U00011459\U0001145e-\U000114c5\U000114c7-\U000115c0'
		'\U000115d8-\U00011640\U00011644-\U00011659\U00011680-\U000116b8\U000116c0-\U00011739\U00011740-\U0001183a'
		'\U000118a0-\U000118e9\U000118ff-\U00011943\U00011950-\U000119e1\U000119e3-\U00011a3e\U00011a47-\U00011a99\U00011a9d'
		'\U00011ab0-\U00011af8\U00011b60-\U00011be0\U00011bf0-\U00011c40\U00011c50-\U00011c59\U00011c72-\U00011ef6'
		'\U00011f00-\U00011f42\U00011f50-\U00011fb0\U00012000-\U00012399\U00012480-\U00012ff0\U00013000-\U0001342f'
		'\U00013440-\U00016a69\U00016a70-\U00016af4\U00016b00-\U00016b36\U00016b40-\U00016b43\U00016b50-\U00016b59'
		'\U00016b63-\U00016d6c\U00016d70-\U00016e7f\U00016ea0-\U00016fe1\U00016fe3-\U00016ff3\U00017000-\U0001bc99'
		'\U0001bc9d\U0001bc9e\U0001ccf0-\U0001ccf9\U0001cf00-\U0001cf46\U0001d165-\U0001d169\U0001d16d-\U0001d172'
		'\U0001d17b-\U0001d182\U0001d185-\U0001d18b\U0001d1aa-\U0001d1ad\U0001d242-\U0001d244\U0001d400-\U0001d6c0'
		'\U0001d6c2-\U0001d6da\U0001d6dc-\U0001d6fa\U0001d6fc-\U0001d714\U0001d716-\U0001d734\U0001d736-\U0001d74e'
		'\U0001d750-\U0001d76e\U0001d770-\U0001d788\U0001d78a-\U0001d7a8\U0001d7aa-\U0001d7c2\U0001d7c4-\U0001d7ff'
		'\U0001da00-\U0001da36\U0001da3b-\U0001da6c\U0001da75\U0001da84\U0001da9b-\U0001e14e\U0001e290-\U0001e2f9'
		'\U0001e4d0-\U0001e5fa\U0001e6c0-\U0001e8c4\U0001e8d0-\U0001e959\U0001ee00-\U0001eebb\U0001fbf0-\U0001fbf9'
		'\U00020000-\U00033479\U000e0100-\U000e01ef]+';
begin
	value := regexp_replace(translate(lower(lower(value collate "C") collate "default"), 'ς', 'σ'), separators, ' ', 'g');
	if length(value) > 200 then value := regexp_replace(value, '(\S{200})\S+', '\1', 'g'); end if;
	return array_remove(string_to_array(value, ' '), '');
end $$;
