BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0003');
CREATE TABLE alerts (
	alert_id VARCHAR NOT NULL, 
	kind VARCHAR NOT NULL, 
	run_id VARCHAR, 
	job VARCHAR, 
	run_date VARCHAR(10), 
	attempt INTEGER, 
	criticality VARCHAR NOT NULL, 
	raised_at INTEGER NOT NULL, 
	message VARCHAR NOT NULL, 
	detail VARCHAR NOT NULL, 
	PRIMARY KEY (alert_id)
);
CREATE TABLE attempts (
	run_id VARCHAR NOT NULL, 
	attempt INTEGER NOT NULL, 
	"key" VARCHAR NOT NULL, 
	started_at INTEGER NOT NULL, 
	config_version INTEGER NOT NULL, 
	boot_id VARCHAR NOT NULL, 
	pid INTEGER, 
	ended_at INTEGER, 
	exit_code INTEGER, 
	signal INTEGER, 
	outcome VARCHAR, 
	reason VARCHAR NOT NULL, 
	stdout_path VARCHAR NOT NULL, 
	stderr_path VARCHAR NOT NULL, 
	status_path VARCHAR NOT NULL, 
	kill_by VARCHAR, 
	cpu_s FLOAT, 
	max_rss_bytes INTEGER, 
	note VARCHAR NOT NULL, 
	token INTEGER DEFAULT 0 NOT NULL, 
	inc_id VARCHAR, 
	revoked_at INTEGER, 
	revoke_reason VARCHAR, 
	reported_at INTEGER, 
	PRIMARY KEY (run_id, attempt)
);
INSERT INTO "attempts" VALUES('other.2027-05-20.2',1,'k1',1810814400000000,1,'',4711,1810814402500000,0,NULL,'succeeded','','','','',NULL,NULL,NULL,'leftovers: 12',0,NULL,NULL,NULL,NULL);
CREATE TABLE audit (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	at INTEGER NOT NULL, 
	actor VARCHAR NOT NULL, 
	role VARCHAR NOT NULL, 
	via VARCHAR NOT NULL, 
	address VARCHAR NOT NULL, 
	action VARCHAR NOT NULL, 
	subject VARCHAR NOT NULL, 
	reason VARCHAR NOT NULL, 
	result VARCHAR NOT NULL, 
	detail VARCHAR NOT NULL, 
	previous_hash VARCHAR(64) NOT NULL, 
	hash VARCHAR(64) NOT NULL
);
CREATE TABLE configs (
	version INTEGER NOT NULL, 
	loaded_at INTEGER NOT NULL, 
	digest VARCHAR NOT NULL, 
	sources VARCHAR NOT NULL, 
	PRIMARY KEY (version)
);
INSERT INTO "configs" VALUES(3,1810814400000000,'d3','[["a.yaml", "jobs: {}"]]');
CREATE TABLE deliveries (
	delivery_id VARCHAR NOT NULL, 
	alert_id VARCHAR NOT NULL, 
	notifier VARCHAR NOT NULL, 
	status VARCHAR NOT NULL, 
	attempts INTEGER NOT NULL, 
	last_error VARCHAR, 
	updated_at INTEGER NOT NULL, 
	PRIMARY KEY (delivery_id)
);
CREATE TABLE engine (
	"key" VARCHAR NOT NULL, 
	value VARCHAR NOT NULL, 
	PRIMARY KEY ("key")
);
INSERT INTO "engine" VALUES('last_tick','2027-05-20T12:00:00Z');
CREATE TABLE events (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	at INTEGER NOT NULL, 
	actor VARCHAR NOT NULL, 
	action VARCHAR NOT NULL, 
	run_id VARCHAR, 
	job VARCHAR, 
	detail VARCHAR NOT NULL
);
INSERT INTO "events" VALUES(1,1810814400000000,'scheduler','created','nightly.2027-05-20.1','nightly','{"trigger":"schedule"}');
INSERT INTO "events" VALUES(2,1810814400000000,'ada','reload',NULL,NULL,'{}');
CREATE TABLE leases (
	name VARCHAR NOT NULL, 
	kind VARCHAR NOT NULL, 
	epoch INTEGER DEFAULT 0 NOT NULL, 
	holder_inc VARCHAR, 
	hb_seq INTEGER DEFAULT 0 NOT NULL, 
	started_at INTEGER, 
	renewed_at INTEGER, 
	lease_until INTEGER, 
	released INTEGER DEFAULT 0 NOT NULL, 
	state_dir VARCHAR, 
	host_id VARCHAR, 
	boot_id VARCHAR, 
	pid_ns VARCHAR, 
	pid INTEGER, 
	start_ticks INTEGER, 
	stopping INTEGER DEFAULT 0 NOT NULL, 
	fenced_at INTEGER, 
	fenced_by VARCHAR, 
	fence_reason VARCHAR, 
	node VARCHAR DEFAULT '' NOT NULL, 
	tags VARCHAR DEFAULT '[]' NOT NULL, 
	capacity INTEGER DEFAULT 0 NOT NULL, 
	address VARCHAR DEFAULT '' NOT NULL, 
	draining INTEGER DEFAULT 0 NOT NULL, 
	stale_seq INTEGER, 
	stale_at INTEGER, 
	PRIMARY KEY (name)
);
CREATE TABLE replies (
	actor VARCHAR NOT NULL, 
	"key" VARCHAR NOT NULL, 
	fingerprint VARCHAR(64) NOT NULL, 
	at INTEGER NOT NULL, 
	status INTEGER NOT NULL, 
	body VARCHAR NOT NULL, 
	PRIMARY KEY (actor, "key")
);
CREATE TABLE run_files (
	run_id VARCHAR NOT NULL, 
	files VARCHAR NOT NULL, 
	PRIMARY KEY (run_id)
);
CREATE TABLE runs (
	run_id VARCHAR NOT NULL, 
	scheduled_at INTEGER NOT NULL, 
	state VARCHAR NOT NULL, 
	"trigger" VARCHAR NOT NULL, 
	job VARCHAR NOT NULL, 
	run_date VARCHAR(10) NOT NULL, 
	seq INTEGER NOT NULL, 
	created_at INTEGER NOT NULL, 
	updated_at INTEGER NOT NULL, 
	reason VARCHAR NOT NULL, 
	cause VARCHAR NOT NULL, 
	attempt INTEGER NOT NULL, 
	attempt_base INTEGER NOT NULL, 
	reruns INTEGER NOT NULL, 
	config_version INTEGER NOT NULL, 
	forced INTEGER NOT NULL, 
	held_from VARCHAR, 
	not_before INTEGER, 
	queued_at INTEGER, 
	wait_until INTEGER, 
	token INTEGER DEFAULT 0 NOT NULL, 
	owner_inc VARCHAR, 
	offered_at INTEGER, 
	claimed_at INTEGER CONSTRAINT a_claim_is_whole CHECK ((owner_inc IS NULL) = (token % 2 = 0) AND (owner_inc IS NULL OR state IN ('queued', 'running'))), 
	cancel_requested INTEGER DEFAULT 0 NOT NULL, 
	on_lost VARCHAR DEFAULT '' NOT NULL, 
	lost_count INTEGER DEFAULT 0 NOT NULL, 
	reclaim_us INTEGER DEFAULT 0 NOT NULL, 
	node VARCHAR DEFAULT '' NOT NULL, 
	node_tags VARCHAR DEFAULT '[]' NOT NULL, 
	PRIMARY KEY (run_id), 
	CONSTRAINT run_id_is_made_of_its_parts CHECK (run_id = job || '.' || run_date || '.' || CAST(seq AS TEXT))
);
INSERT INTO "runs" VALUES('nightly.2027-05-20.1',1810814460000000,'queued','schedule','nightly','2027-05-20',1,1810814400000000,1810814400000000,'held by ada','',0,0,0,1,0,NULL,NULL,NULL,NULL,0,NULL,NULL,NULL,0,'',0,0,'','[]');
INSERT INTO "runs" VALUES('other.2027-05-20.2',1810814520000000,'failed','schedule','other','2027-05-20',2,1810814400000000,1810814400000000,'exit 1','',1,0,0,1,0,NULL,NULL,NULL,NULL,0,NULL,NULL,NULL,0,'',0,0,'','[]');
CREATE TABLE sessions (
	session_hash VARCHAR(64) NOT NULL, 
	user VARCHAR NOT NULL, 
	proof VARCHAR NOT NULL, 
	csrf VARCHAR NOT NULL, 
	created_at INTEGER NOT NULL, 
	seen_at INTEGER NOT NULL, 
	expires_at INTEGER NOT NULL, 
	address VARCHAR NOT NULL, 
	agent VARCHAR NOT NULL, 
	revoked_at INTEGER, 
	revoked_by VARCHAR, 
	PRIMARY KEY (session_hash)
);
CREATE INDEX alerts_by_time ON alerts (raised_at);
CREATE INDEX alerts_of_run ON alerts (run_id);
CREATE UNIQUE INDEX attempts_of_grant ON attempts (run_id, token) WHERE inc_id IS NOT NULL;
CREATE INDEX attempts_of_incarnation ON attempts (inc_id) WHERE inc_id IS NOT NULL;
CREATE INDEX audit_by_time ON audit (at);
CREATE INDEX audit_of_actor ON audit (actor, at);
CREATE INDEX deliveries_by_status ON deliveries (status);
CREATE INDEX deliveries_of_alert ON deliveries (alert_id);
CREATE INDEX events_of_action ON events (action, at);
CREATE INDEX events_of_job ON events (job, action, at);
CREATE INDEX events_of_person ON events (actor, at) WHERE actor <> 'scheduler';
CREATE INDEX events_of_run ON events (run_id);
CREATE INDEX leases_by_end ON leases (fenced_at);
CREATE INDEX replies_by_time ON replies (at);
CREATE UNIQUE INDEX runs_due_once ON runs (job, scheduled_at) WHERE "trigger" IN ('backfill', 'catch_up', 'schedule');
CREATE INDEX runs_ended ON runs (state, "trigger", scheduled_at DESC, run_id) WHERE state IN ('cancelled', 'failed', 'skipped', 'succeeded');
CREATE INDEX runs_ended_of_date ON runs (run_date, state, "trigger", scheduled_at DESC, run_id) WHERE state IN ('cancelled', 'failed', 'skipped', 'succeeded');
CREATE INDEX runs_ended_of_job ON runs (job, state, "trigger", scheduled_at DESC, run_id) WHERE state IN ('cancelled', 'failed', 'skipped', 'succeeded');
CREATE INDEX runs_of_date ON runs (job, run_date, scheduled_at, seq);
CREATE INDEX runs_offered ON runs (offered_at, scheduled_at, run_id) WHERE state = 'queued' AND offered_at IS NOT NULL AND owner_inc IS NULL;
CREATE INDEX runs_open ON runs (scheduled_at DESC, run_id, state, "trigger") WHERE state NOT IN ('cancelled', 'failed', 'skipped', 'succeeded');
CREATE INDEX runs_owned ON runs (owner_inc, run_id) WHERE owner_inc IS NOT NULL;
CREATE INDEX sessions_by_end ON sessions (expires_at);
CREATE INDEX sessions_of_user ON sessions (user);
CREATE TRIGGER token_never_decreases BEFORE UPDATE OF token ON runs WHEN NEW.token < OLD.token
BEGIN SELECT RAISE(ABORT, 'a token never decreases'); END;
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('events',2);
COMMIT;
