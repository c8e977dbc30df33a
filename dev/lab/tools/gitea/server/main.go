// Command gitea is Gitea with SQLite in Go. Upstream's own program binds the C library, and so needs a C compiler,
// which a machine that has Go need not have.
package main

import (
	"database/sql"
	sqldriver "database/sql/driver"
	"os"
	"strings"

	"code.gitea.io/gitea/cmd"
	"code.gitea.io/gitea/modules/log"
	"code.gitea.io/gitea/modules/setting"
	"github.com/urfave/cli/v3"
	"modernc.org/sqlite"
)

// driver is the name by which Gitea asks for SQLite.
const driver = "sqlite3"

// version is set by the linker.
var version = "development"

func init() {
	sql.Register(driver, ownCaches{&sqlite.Driver{}})
	setting.EnableSQLite3 = true
	setting.SupportedDatabaseTypes = append(setting.SupportedDatabaseTypes, driver)
	setting.AppVer = version
}

// ownCaches gives each connection a page cache of its own. Gitea asks for a shared one, where a table that another
// connection writes to is an error at once ("database table is locked"), whatever the busy timeout says.
// Source: https://sqlite.org/sharedcache.html
type ownCaches struct{ sqldriver.Driver }

func (d ownCaches) Open(name string) (sqldriver.Conn, error) {
	return d.Driver.Open(strings.Replace(name, "cache=shared", "cache=private", 1))
}

func main() {
	cli.OsExiter = exit
	if err := cmd.RunMainApp(cmd.NewMainApp(cmd.AppVersion{Version: version}), os.Args...); err != nil {
		exit(1)
	}
	exit(0)
}

// exit ends the program when its log is written, which Gitea does behind the scenes.
func exit(code int) {
	log.GetManager().Close()
	os.Exit(code)
}
