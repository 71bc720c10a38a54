-- Numbers of a telephone company: states and steps of jobs, moves to other companies, retries, blocks of numbers, MERGE.

create sequence job_seq start with 100;
create table number_pool (msisdn char(12) primary key constraint pk_pool, block smallint, state char(1) default 'F',
                          owner integer, since date, tries smallint default 0);
create table job (job integer primary key, kind varchar(10), msisdn char(12), cust integer, due date,
                  state char(2) default 'NW', step smallint default 0, tries smallint default 0, msg varchar(50));
create table job_step (kind varchar(10), step smallint, action varchar(12), most_tries smallint, on_error char(1),
                       primary key (kind, step));
create table switch_port (msisdn char(12) primary key constraint pk_port, port integer, up boolean default 't');
create table black_list (msisdn char(12));
create table job_hist (id serial, job integer, step smallint, action varchar(12), result varchar(50));
insert into job_step values ('ACTIVATE', 1, 'RESERVE', 1, 'X');
insert into job_step values ('ACTIVATE', 2, 'PORT', 3, 'R');
insert into job_step values ('ACTIVATE', 3, 'CONFIRM', 1, 'X');
insert into job_step values ('CANCEL', 1, 'UNPORT', 1, 'C');
insert into job_step values ('CANCEL', 2, 'QUARANTINE', 1, 'X');
insert into job_step values ('SHELL', 1, 'SCRIPT', 1, 'X');
insert into number_pool (msisdn, block) values ('441600000', 1);
insert into number_pool (msisdn, block) values ('441600001', 1);
insert into number_pool (msisdn, block) values ('441600002', 1);
insert into number_pool (msisdn, block, state, owner) values ('441600003', 1, 'A', 7);
insert into black_list values ('441600002');
insert into switch_port (msisdn, port) values ('441600003', 4);
insert into switch_port (msisdn, port) values ('441600001', 3);

create function new_job (kind varchar(10), msisdn char(12), cust integer, due date default today) returning integer;
	define job integer;			-- a variable hides the column of this name
	if not exists (select * from job_step s where s.kind = kind) then
		raise exception -746, 0, 'no kind ' || kind;
	end if;
	let job = job_seq.nextval;
	insert into job (job, kind, msisdn, cust, due) values (job, kind, msisdn, cust, due);
	return job;
end function;

CREATE PROCEDURE do_action (p_action VARCHAR(12), p_msisdn CHAR(12), p_cust INTEGER, p_day DATE)
	RETURNING VARCHAR(50);
	DEFINE v_state, v_black CHAR(1);
	DEFINE v_owner, v_port, v_n INTEGER;

	SELECT p.state, p.owner, (SELECT MAX('Y') FROM black_list b WHERE b.msisdn = p.msisdn)
	  INTO v_state, v_owner, v_black
	  FROM number_pool p WHERE p.msisdn = p_msisdn;
	IF v_state IS NULL THEN
		RAISE EXCEPTION -746, 1, 'unknown number';
	END IF;

	CASE p_action
	WHEN 'RESERVE' THEN
		IF v_state <> 'F' THEN RAISE EXCEPTION -746, 2, 'state ' || v_state; END IF;
		IF v_black = 'Y' THEN RAISE EXCEPTION -746, 3, 'listed'; END IF;
		UPDATE number_pool SET (state, owner, since) = ('R', p_cust, p_day) WHERE msisdn = p_msisdn;
		RETURN 'for ' || p_cust;
	WHEN 'PORT' THEN
		SELECT NVL(MAX(port), 0) + 1 INTO v_port FROM switch_port;
		UPDATE number_pool SET tries = tries + 1 WHERE msisdn = p_msisdn;
		INSERT INTO switch_port (msisdn, port) VALUES (p_msisdn, v_port);	-- fails if it has one
		RETURN 'port ' || v_port;
	WHEN 'CONFIRM' THEN
		UPDATE number_pool SET state = 'A' WHERE msisdn = p_msisdn AND state = 'R';
		RETURN DBINFO('sqlca.sqlerrd2') || ' row';
	WHEN 'UNPORT' THEN
		DELETE FROM switch_port WHERE msisdn = p_msisdn;
		LET v_n = DBINFO('sqlca.sqlerrd2');
		IF v_n = 0 THEN RAISE EXCEPTION -746, 4, 'no port'; END IF;
		RETURN v_n || ' port';
	WHEN 'QUARANTINE' THEN
		IF v_owner <> p_cust THEN RAISE EXCEPTION -746, 5, 'owner ' || v_owner; END IF;
		MERGE INTO number_pool AS p
		USING (SELECT DISTINCT msisdn AS m FROM number_pool WHERE msisdn = p_msisdn) AS s
		   ON p.msisdn = s.m
		 WHEN MATCHED THEN UPDATE SET p.state = 'Q', p.owner = NULL, p.since = p_day;
		RETURN NULL;
	END CASE;
END PROCEDURE;

create procedure run_jobs (today_ date, most integer default 50, trace_to varchar(40) default null)
	returning integer as job, char(2) as state, smallint as step, varchar(50) as msg;

	-- =================================================================
	--  Works off the jobs that are due. A job goes through the steps of
	--  its kind; each step is a transaction of its own.
	--    on_error   X  the job ends with an error
	--               R  the step is tried again, most_tries times at most,
	--                  then the job waits a day
	--               C  the error is noted, the next step follows
	--  States: NW new, WT waits, OK done, ER error.
	-- =================================================================
	define job, cust, tries, count integer;
	define kind, action varchar(12);
	define msisdn char(12);
	define due date;
	define state char(2);
	define step, max_tries, this_try smallint;
	define on_error char(1);
	define result, msg varchar(50);
	define code, isam integer;

	if trace_to is not null then
		set debug file to trace_to;
		trace 'run_jobs of ' || today_;
		trace on;
	end if
	let count = 0;

	<<all_jobs>>
	foreach c_job with hold for
		select j.job, j.kind, j.msisdn, j.cust, j.due, j.step, j.tries
		  into job, kind, msisdn, cust, due, step, tries
		  from job j
		 where j.state in ('NW', 'WT') and j.due <= today_
		 order by j.due, j.job

		exit all_jobs when count >= most;
		let count = count + 1;
		let state = 'OK';
		let msg = null;

		<<steps>>
		loop
			let step = step + 1;
			let action = null;
			select s.action, s.most_tries, s.on_error
			  into action, max_tries, on_error
			  from job_step s where s.kind = kind and s.step = step;
			exit steps when action is null;		-- that was the last one

			<<again>>
			for this_try in (1 to 99)
				let code = 0;
				begin work;
				begin
					on exception set code, isam, result
						rollback work;
						let result = code || '/' || isam || ' ' || result;
					end exception
					if action = 'SCRIPT' then
						system 'provision ' || msisdn;
						let result = 'started';
					else
						let result = do_action(action, msisdn, cust, today_);
					end if
				end
				if code <> 0 then
					begin work;
				end if
				insert into job_hist (job, step, action, result) values (job, step, action, nvl(result, 'done'));
				commit work;
				exit again when code = 0;

				if on_error = 'C' then
					let msg = result;
					continue steps;
				elif on_error = 'X' then
					let state, msg = 'ER', result;
					exit steps;
				end if
				if this_try >= max_tries then
					let state = 'WT';
					let tries = tries + 1;
					let due = due + 1 units day;
					let step = step - 1;
					let msg = result;
					exit steps;
				end if
			end for again
		end loop steps

		begin work;
		execute immediate 'update job set state = ''' || state || ''', step = ' || step || ', tries = ' || tries
			|| ', due = mdy(' || month(due) || ',' || day(due) || ',' || year(due) || ') where job = ' || job;
		execute immediate "update job set msg = " || nvl("'" || msg || "'", "null") || " where job = " || job;
		commit work;
		return job, state, step, msg with resume;
	end foreach all_jobs
	trace off;
end procedure;

execute function new_job('ACTIVATE', '441600000', 1, mdy(9,1,2026));
--> 100|
execute function new_job('ACTIVATE', '441600001', 2, mdy(9,1,2026));
--> 101|
execute function new_job('ACTIVATE', '441600002', 3, mdy(9,1,2026));
--> 102|
execute function new_job('CANCEL', '441600003', 7, mdy(9,2,2026));
--> 103|
execute function new_job('MOVE', '441600003', 7);
--> error -746, 0, no kind MOVE
execute function new_job('SHELL', '441600000', 7, mdy(9,2,2026));
--> 104|
execute function new_job('CANCEL', '441600002', 9, mdy(9,3,2026));
--> 105|
-- 100: port 5, as 4 and 3 are there; 101: has a port already, three times; 102: is listed
execute procedure run_jobs(mdy(9,1,2026));
--> 100|OK|4||
--> 101|WT|1|-268/-100 anna.pk_port|
--> 102|ER|1|-746/3 listed|
select msisdn, state, owner, since, tries from number_pool order by 1;
--> 441600000   |A|1|2026-09-01|1|
--> 441600001   |R|2|2026-09-01|0|
--> 441600002   |F|||0|
--> 441600003   |A|7||0|
select step, action, result from job_hist where job = 101 order by id;
--> 1|RESERVE|for 2|
--> 2|PORT|-268/-100 anna.pk_port|
--> 2|PORT|-268/-100 anna.pk_port|
--> 2|PORT|-268/-100 anna.pk_port|
select job, due, state, step, tries, msg from job where job in (100, 101) order by job;
--> 100|2026-09-01|OK|4|0||
--> 101|2026-09-02|WT|1|1|-268/-100 anna.pk_port|
-- at most two: 101, which is due again, and 103
execute procedure run_jobs(mdy(9,2,2026), 2);
--> 101|WT|1|-268/-100 anna.pk_port|
--> 103|OK|3||
-- this server refuses SYSTEM; 101 succeeds now; 441600002 has no owner, which is not another one, and no port
delete from switch_port where msisdn = '441600001';
execute procedure run_jobs(mdy(9,3,2026), trace_to = 'jobs.trc');
--> 104|ER|1|-668/0 the server does not allow SYSTEM|
--> 101|OK|4||
--> 105|OK|3|-746/4 no port|
select msisdn, state, owner, since from number_pool where msisdn > '441600000' order by 1;
--> 441600001   |A|2|2026-09-01|
--> 441600002   |Q||2026-09-03|
--> 441600003   |Q||2026-09-02|
select step, action, result from job_hist where job in (103, 105) order by id;
--> 1|UNPORT|1 port|
--> 2|QUARANTINE|done|
--> 1|UNPORT|-746/4 no port|
--> 2|QUARANTINE|done|
select job, tries, due from job where state = 'OK' order by job;
--> 100|0|2026-09-01|
--> 101|2|2026-09-03|
--> 103|0|2026-09-02|
--> 105|0|2026-09-03|
