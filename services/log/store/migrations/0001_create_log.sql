-- The stored log. Every key starts with shard_id: the tables can be distributed by it, and an append touches one shard.

create table log_info(
  only_row boolean primary key default true check (only_row),
  shard_count int not null check (shard_count > 0),
  created_at timestamptz not null default now());

-- Only what rarely changes: the tail of a shard is the last row of its events.
create table shard(
  shard_id int primary key,
  epoch int not null default 1,
  floor_position bigint not null default 0,
  floor_at timestamptz not null default '-infinity',
  summary_position bigint not null default 0);

-- A summary of each session that may lag behind its events. session_pk: the position of its first event.
create table session(
  shard_id int not null,
  session_pk bigint not null,
  tenant_id text not null,
  session_id text not null,
  checkpoint_seq bigint not null default 0,
  state bytea not null default '',
  title text not null default '',
  labels jsonb not null default '{}',
  status smallint not null default 1,
  opened_at timestamptz not null,
  last_activity timestamptz not null,
  primary key (shard_id, session_pk),
  unique (shard_id, tenant_id, session_id));

create index session_by_activity on session(shard_id, tenant_id, last_activity desc, session_pk);

create table event(
  shard_id int not null,
  position bigint not null,
  session_pk bigint not null,
  seq bigint not null,
  event_id uuid not null,
  type smallint not null,
  recorded_at timestamptz not null,
  payload bytea not null,
  primary key (shard_id, position),
  unique (shard_id, session_pk, seq),
  unique (shard_id, session_pk, event_id));

-- What plans and session states are folded from, between much chat.
create index event_of_plans on event(shard_id, session_pk, seq) where type in (10, 11, 12, 13, 14, 15, 16, 30, 31);

-- Appends a batch to a shard, whole or not at all. Called as one statement outside any transaction block.
--
-- tail, tail_id: the position that the batch was judged at and the event there (null: not checked). pks: a session's key, or
-- -k for a session that the batch's k-th event opens. payloads: all of them, one behind the other, of these lengths.
--
-- The first row answers: o_position = the first position assigned, or 0 when refused; o_session_pk = the tail found; o_seq = 1
-- if all events after `tail` up to there follow, 0 if only the first ones (at most 1024 and 4 MiB, but at least one).
-- DK001: the log does not go through `tail`, or has another epoch. DK002: there is no such shard.
create function append_events_v1(s int, ep int, tail bigint, tail_id uuid, pks bigint[], seqs bigint[], ids uuid[],
  types smallint[], lengths int[], payloads bytea, new_ord int[], new_tenant text[], new_session text[])
returns table(o_position bigint, o_session_pk bigint, o_seq bigint, o_event_id uuid, o_type smallint, o_recorded_at bigint,
  o_payload bytea)
language plpgsql volatile as $function$
declare
  at timestamptz;
  last bigint;
  last_at timestamptz;
  last_id uuid;
  fl bigint;
  fl_at timestamptz;
  e int;
  touched bigint[];
  missed_rows bigint;
  missed_bytes bigint;
  complete bool := true;
  ok bool := true;
begin
  select sh.floor_position, sh.floor_at, sh.epoch into fl, fl_at, e from shard sh where sh.shard_id = s for update;
  if not found then
    raise exception 'no shard %', s using errcode = 'DK002';
  end if;
  -- A statement of its own: it must see what the last holder of the lock committed.
  select ev.position, ev.recorded_at, ev.event_id into last, last_at, last_id
    from event ev where ev.shard_id = s order by ev.position desc limit 1;
  if e <> ep or greatest(last, fl) < tail
     or (last = tail and last_id <> tail_id)
     or (last > tail and exists (select from event ev where ev.shard_id = s and ev.position = tail and ev.event_id <> tail_id)) then
    raise exception 'epoch %, position %', e, last using errcode = 'DK001';
  end if;
  last := greatest(last, fl);
  at := greatest(last_at, fl_at, clock_timestamp());
  if last > tail then
    -- The order keeps the planner on the primary key also before the first analyze.
    select array_agg(m.pk), count(*), sum(m.bytes) into touched, missed_rows, missed_bytes
      from (select ev.session_pk pk, octet_length(ev.payload)::bigint bytes from event ev
            where ev.shard_id = s and ev.position > tail order by ev.position limit 1025) m;
    complete := missed_rows = 0 or (missed_rows <= 1024 and missed_bytes <= 4194304) or missed_rows = 1;
    ok := complete and (touched is null or not touched && pks);
    if ok and cardinality(new_ord) > 0 then
      ok := not exists (select from unnest(new_tenant, new_session) n(t, i)
                        join session x on x.shard_id = s and x.tenant_id = n.t and x.session_id = n.i);
    end if;
  end if;
  return query select case when ok then last + 1 else 0 end, last, complete::int::bigint, null::uuid, null::smallint,
    (extract(epoch from at) * 1000000)::bigint, null::bytea;
  if last > tail then
    return query select m.position, m.session_pk, m.seq, m.event_id, m.type,
        (extract(epoch from m.recorded_at) * 1000000)::bigint, m.payload
      from (select ev.*, row_number() over w n, sum(octet_length(ev.payload)) over w bytes
            from (select * from event v where v.shard_id = s and v.position > tail order by v.position limit 1024) ev
            window w as (order by ev.position rows unbounded preceding)) m
      where m.n = 1 or m.bytes <= 4194304 order by m.position;
  end if;
  if ok then
    if cardinality(new_ord) > 0 then
      insert into session(shard_id, session_pk, tenant_id, session_id, opened_at, last_activity)
        select s, last + n.o, n.t, n.i, at, at from unnest(new_ord, new_tenant, new_session) n(o, t, i);
    end if;
    insert into event(shard_id, position, session_pk, seq, event_id, type, recorded_at, payload)
      select s, last + u.ord, case when u.pk < 0 then last - u.pk else u.pk end, u.q, u.e, u.t, at,
             substring(payloads from u.through - u.len + 1 for u.len)
      from (select r.*, (sum(r.len) over (order by r.ord rows unbounded preceding))::int through
            from unnest(pks, seqs, ids, types, lengths) with ordinality r(pk, q, e, t, len, ord)) u
      order by u.ord;
  end if;
end
$function$;
