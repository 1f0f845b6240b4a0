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

// MakeTables makes the tables that the channel's library keeps in a database, as it
// makes them today: what is known of rooms, and the keys of encrypted ones.
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

// versions makes the tables that say how far the stores of mautrix were upgraded:
// it looks for them in every schema of the database, finds those of others, and
// then misses its own.
func versions(ctx context.Context, db *dbutil.Database) error {
	for _, table := range []string{sqlstatestore.VersionTableName, sql_store_upgrade.VersionTableName} {
		if _, err := db.Exec(ctx, "CREATE TABLE IF NOT EXISTS "+table+" (version INTEGER, compat INTEGER)"); err != nil {
			return fmt.Errorf("make %s: %w", table, err)
		}
	}
	return nil
}
