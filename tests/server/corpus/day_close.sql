-- The close of a bank's day: steps that are not repeated after a restart, a commit each n rows, charges, the next day.

create table branch (branch char(4) primary key, bus_date date, n_commit smallint, charges char(20));
create table gl_acct (acct integer primary key constraint pk_gl, branch char(4), kind char(2), bal money(14,2),
                      check (kind <> 'SV' or bal >= 0) constraint ck_savings);
create table txn (txn integer primary key, branch char(4), acct integer, dc char(1), amt money(12,2), status char(1));
create table eod_step (branch char(4), bus_date date, step smallint, descr varchar(30), rows integer, note varchar(60),
                       primary key (branch, bus_date, step) constraint pk_eod_step);
create table eod_err (branch char(4), bus_date date, txn integer, sqlcode integer, text varchar(60));
create table bank_holiday (hol date);
insert into branch values ("B001", mdy(12,24,2026), 2, "LC 5.00 OD 0.15");
insert into branch values ("B002", mdy(12,24,2026), null, "");
insert into bank_holiday values (mdy(12,25,2026));
insert into gl_acct values (9000, "B001", "GL", 0);
insert into gl_acct values (9002, "B002", "GL", 0);
insert into gl_acct values (101, "B001", "CU", 1000);
insert into gl_acct values (102, "B001", "CU", 40);
insert into gl_acct values (103, "B001", "SV", 300);
insert into gl_acct values (104, "B001", "CU", 99.99);
insert into txn values (1, "B001", 101, "D", 250, "N");
insert into txn values (2, "B001", 103, "D", 300.01, "N");
insert into txn values (3, "B001", 102, "D", 73.36, "N");
insert into txn values (4, "B001", 555, "C", 10, "N");
insert into txn values (5, "B001", 104, "C", 0.01, "N");
insert into txn values (6, "B001", 103, "D", 300, "N");
insert into txn values (7, "B001", 101, "?", 1, "N");
insert into txn values (8, "B002", 101, "C", 1, "N");

create procedure log_step(p_br char(4), p_day date, p_step smallint, p_descr varchar(30),
                          p_rows integer, p_note varchar(60) default null);
	insert into eod_step values (p_br, p_day, p_step, p_descr, p_rows, p_note);
end procedure;

create function charge_of(p_text char(20), p_code char(2)) returning decimal(10,2);
	-- "LC 5.00 OD 0.15": the number behind the code, 0 without it
	define i, j smallint;
	define v_num varchar(10);
	for i = 1 to length(p_text) - 2
		if substr(p_text, i, 2) = p_code then
			let j = i + 3;
			let v_num = "";
			while j <= length(p_text) and substr(p_text, j, 1) <> " "
				let v_num = v_num || substr(p_text, j, 1);
				let j = j + 1;
			end while
			return v_num;
		end if
	end for
	return 0;
end function;

create procedure eod_close(p_br char(4), p_day date, p_stop smallint default 99)
	returning smallint, varchar(60);

	--------------------------------------------------------------------
	-- end of day of one branch
	--   1  posts the transactions, commits each n rows
	--   2  charges: low balance (LC), a percentage of an overdraft (OD)
	--   3  the charges must be those of the ledger account
	--   4  the next business day
	-- may be started again: steps in eod_step are not repeated.
	-- p_stop: ends before this step (for tests)
	--------------------------------------------------------------------
	define v_bus, v_next         date;
	define v_n, v_open, v_step   smallint;
	define v_txn, v_acct, v_led  integer;
	define v_dc                  char(1);
	define v_amt, v_bal          money(12,2);
	define v_fee, v_sum          decimal(12,2);
	define v_low, v_od           decimal(10,2);
	define v_text                char(20);
	define v_good, v_bad         integer;
	define e1, e2                integer;
	define e3                    varchar(60);

	on exception set e1, e2, e3
		begin
			on exception in (-255)	-- no transaction
			end exception with resume;
			rollback work;
		end
		return -1, e1 || "/" || e2 || ": " || nvl(e3, "");
	end exception

	set lock mode to wait 10;
	select bus_date, nvl(n_commit, 100), charges
	  into v_bus, v_n, v_text
	  from branch where branch = p_br;
	if v_bus is null then
		return -1, "unknown branch";
	elif v_bus > p_day then
		return 0, "closed before";
	elif v_bus < p_day then
		return -1, "the open day is " || to_char(v_bus, "%d.%m.%Y");
	end if

	select max(acct) into v_led from gl_acct where branch = p_br and kind = "GL";
	select nvl(max(step), 0) + 1 into v_step
	  from eod_step where branch = p_br and bus_date = p_day;

	-- ----- 1 ---------------------------------------------------------
	if v_step = 1 and p_stop > 1 then
		let v_open, v_good, v_bad = 0, 0, 0;
		begin work;
		foreach c_txn with hold for
			select txn, acct, dc, amt into v_txn, v_acct, v_dc, v_amt
			  from txn where branch = p_br and status = "N" order by txn

			begin
				on exception in (-530, -746) set e1, e2, e3
					insert into eod_err values (p_br, p_day, v_txn, e1, e3);
					update txn set status = "E" where txn = v_txn;
					let v_bad = v_bad + 1;
				end exception

				if v_dc = "D" then
					let v_amt = -v_amt;
				elif v_dc <> "C" then
					raise exception -746, 0, "neither D nor C: " || v_dc;
				end if
				update gl_acct set bal = bal + v_amt where acct = v_acct;
				if dbinfo("sqlca.sqlerrd2") = 0 then
					raise exception -746, 0, "no account " || v_acct;
				end if
				update txn set status = "P" where txn = v_txn;
				let v_good = v_good + 1;
			end

			let v_open = v_open + 1;
			if v_open >= v_n then
				commit work;
				begin work;
				let v_open = 0;
			end if
		end foreach
		execute procedure log_step(p_br, p_day, 1, "posting", v_good, decode(v_bad, 0, null, v_bad || " bad"));
		commit work;
		let v_step = 2;
	end if

	-- ----- 2, 3 ------------------------------------------------------
	if v_step = 2 and p_stop > 2 then
		let v_low, v_od = charge_of(v_text, "LC"), charge_of(v_text, "OD");
		let v_sum, v_good = 0, 0;
		begin work;
		foreach select acct, bal into v_acct, v_bal from gl_acct
		         where branch = p_br and kind = "CU" order by acct
			let v_fee = case when v_bal < 0 then round(-v_bal * v_od / 100, 2)
			                 when v_bal < 100 then v_low
			                 else 0 end;
			if v_fee = 0 then
				continue foreach;
			end if
			update gl_acct set bal = bal - v_fee where acct = v_acct;
			let v_sum, v_good = v_sum + v_fee, v_good + 1;
		end foreach
		update gl_acct set bal = bal + v_sum where acct = v_led;
		call log_step(p_br, p_day, 2, "charges", v_good, "sum " || v_sum);
		-- the check is part of the transaction
		if (select bal from gl_acct where acct = v_led) <> v_sum then
			raise exception -746, v_step, "charges and ledger differ";
		end if
		call log_step(p_br, p_day, 3, "check", 1);
		commit work;
		let v_step = 4;
	end if

	-- ----- 4 ---------------------------------------------------------
	if v_step = 4 and p_stop > 4 then
		let v_next = p_day + 1;
		while weekday(v_next) in (0, 6) or exists (select 1 from bank_holiday where hol = v_next)
			let v_next = v_next + 1;
		end while
		begin work;
		update branch set bus_date = v_next where branch = p_br;
		call log_step(p_br, p_day, 4, "next day", v_next - p_day, v_next::varchar(10));
		commit work;
	end if
	return v_step, null;
end procedure
document "eod_close: the close of a branch's day";

execute function charge_of("LC 5.00 OD 0.15", "LC");
--> 5.00|
execute function charge_of("LC 5.00 OD 0.15", "OD");
--> 0.15|
execute function charge_of("LC 5.00", "OD");
--> 0.00|
execute procedure eod_close("B009", mdy(12,24,2026));
--> -1|unknown branch|
execute procedure eod_close("B001", mdy(12,28,2026));
--> -1|the open day is 24.12.2026|
execute procedure eod_close("B001", mdy(12,24,2026), 2);
--> 2||
-- 1: 1000 - 250; 2: 300 - 300.01 is not allowed; 3: 40 - 73.36; 5: 99.99 + 0.01; 6: 300 - 300
select acct, bal from gl_acct order by acct;
--> 101|750.00|
--> 102|-33.36|
--> 103|0.00|
--> 104|100.00|
--> 9000|0.00|
--> 9002|0.00|
select txn, status from txn order by txn;
--> 1|P|
--> 2|E|
--> 3|P|
--> 4|E|
--> 5|P|
--> 6|P|
--> 7|E|
--> 8|N|
select txn, sqlcode, text from eod_err order by txn;
--> 2|-530|anna.ck_savings|
--> 4|-746|no account 555|
--> 7|-746|neither D nor C: ?|
select step, descr, rows, note from eod_step order by step;
--> 1|posting|4|3 bad|
-- the ledger account has 0.01 already: the charges are undone
update gl_acct set bal = 0.01 where acct = 9000;
execute procedure eod_close("B001", mdy(12,24,2026));
--> -1|-746/2: charges and ledger differ|
update gl_acct set bal = 0 where acct = 9000;
select step from eod_step;
--> 1|
-- 33.36 * 0.15 % = 0.05004; 104 has 100.00 exactly, which is not low
execute procedure eod_close("B001", mdy(12,24,2026), 4);
--> 4||
select acct, bal from gl_acct where acct in (102, 9000) order by acct;
--> 102|-33.41|
--> 9000|0.05|
select step, rows, note from eod_step where step > 1 order by step;
--> 2|1|sum 0.05|
--> 3|1||
-- 24 December 2026 is a Thursday, the 25th a holiday, then a weekend
execute procedure eod_close("B001", mdy(12,24,2026));
--> 4||
select bus_date, bus_date - mdy(12,24,2026) from branch where branch = "B001";
--> 2026-12-28|4|
select rows, note from eod_step where step = 4;
--> 4|12/28/2026|
execute procedure eod_close("B001", mdy(12,24,2026));
--> 0|closed before|
-- a branch without charges; its one transaction is of another branch's account: 750 + 1
execute procedure eod_close("B002", mdy(12,24,2026));
--> 4||
select step, rows, note from eod_step where branch = "B002" order by step;
--> 1|1||
--> 2|0|sum 0.00|
--> 3|1||
--> 4|4|12/28/2026|
select bal from gl_acct where acct = 101;
--> 751.00|
