package matrix

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"go.mau.fi/util/dbutil"
	"maunium.net/go/mautrix/crypto/sql_store_upgrade"
	"maunium.net/go/mautrix/sqlstatestore"
)

// MakeTables creates the tables of the channel's library in their present form: the
// states of rooms and the keys of encrypted ones.
func MakeTables(ctx context.Context, to *sql.DB, dialect string) error {
	db, err := dbutil.NewWithDB(to, dialect)
	if err != nil {
		return err
	}
	db.Log = dbutil.NoopLogger
	keys := db.Child(sql_store_upgrade.VersionTableName, sql_store_upgrade.Table, dbutil.NoopLogger)
	return errors.Join(versions(ctx, db), sqlstatestore.NewSQLStateStore(db, dbutil.NoopLogger, false).Upgrade(ctx),
		keys.Upgrade(ctx))
}

// versions creates the tables that record the versions of mautrix' stores. mautrix
// itself looks for them in all schemas of a database, finds those of others, and then
// does not create its own.
func versions(ctx context.Context, db *dbutil.Database) error {
	for _, table := range []string{sqlstatestore.VersionTableName, sql_store_upgrade.VersionTableName} {
		if _, err := db.Exec(ctx, "CREATE TABLE IF NOT EXISTS "+table+" (version INTEGER, compat INTEGER)"); err != nil {
			return fmt.Errorf("create %s: %w", table, err)
		}
	}
	return nil
}
