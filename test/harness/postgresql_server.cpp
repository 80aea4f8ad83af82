// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "harness/postgresql_server.hpp"

#include "harness/eventually.hpp"
#include "harness/redis_server.hpp"

#include <catch2/catch_test_macros.hpp>

#include <libpq-fe.h>

#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <utility>

namespace tenure::test
{

namespace
{

using namespace std::chrono_literals;

/// the servers refuse to run as root
constexpr unsigned nobody = 65534;

} // namespace

std::string postgresql_program(std::string const& name)
{
    std::vector<std::string> found;
    std::error_code none;
    for (auto const& version : std::filesystem::directory_iterator("/usr/lib/postgresql", none))
        if (auto const path = version.path() / "bin" / name; std::filesystem::exists(path))
            found.push_back(path);
    std::ranges::sort(found);
    return found.empty() ? find_program(name) : found.back();
}

namespace
{

std::vector<std::string> as_other_user(std::vector<std::string> arguments)
{
    if (::geteuid() != 0)
        return arguments;
    std::vector<std::string> all{"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--pdeathsig", "keep",
                                 "--"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return all;
}

void run(std::vector<std::string> arguments, std::string const& output)
{
    ChildProcess process(Command{as_other_user(std::move(arguments)), {}, output});
    auto const ended = process.wait_for(120s);
    if (!ended || ended->code != 0)
        throw std::runtime_error(
            "a program of PostgreSQL failed:\n" + (std::ostringstream() << std::ifstream(output).rdbuf()).str());
}

} // namespace

struct PostgresqlPerson::Connection {
    PGconn* pg;
};

PostgresqlPerson::PostgresqlPerson(std::uint16_t port, std::string const& parameters)
    : connection_(new Connection{PQconnectdb(
          ("host=127.0.0.1 gssencmode=disable connect_timeout=10 port=" + std::to_string(port) + " " + parameters)
              .c_str())})
{
    if (PQstatus(connection_->pg) != CONNECTION_OK) {
        std::string const why = PQerrorMessage(connection_->pg);
        PQfinish(connection_->pg);
        throw std::runtime_error(why);
    }
    // its own way is to print them
    PQsetNoticeProcessor(connection_->pg, [](void*, char const*) {}, nullptr);
}

PostgresqlPerson::~PostgresqlPerson()
{
    PQfinish(connection_->pg);
}

std::vector<std::vector<std::string>>
PostgresqlPerson::ask(std::string const& sql, std::vector<std::string> const& values)
{
    std::vector<char const*> pointers;
    for (auto const& value : values)
        pointers.push_back(value.c_str());
    auto* const result = values.empty() ? PQexec(connection_->pg, sql.c_str())
                                        : PQexecParams(
                                              connection_->pg, sql.c_str(), static_cast<int>(values.size()), nullptr,
                                              pointers.data(), nullptr, nullptr, 0);
    std::unique_ptr<PGresult, decltype(&PQclear)> const owned(result, &PQclear);
    if (auto const status = PQresultStatus(result); status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
        char const* const code = PQresultErrorField(result, PG_DIAG_SQLSTATE);
        throw std::runtime_error(std::string(code == nullptr ? "08006" : code) + " " + PQresultErrorMessage(result));
    }
    std::vector<std::vector<std::string>> rows(static_cast<std::size_t>(PQntuples(result)));
    for (int row = 0; row < PQntuples(result); ++row)
        for (int column = 0; column < PQnfields(result); ++column)
            rows[static_cast<std::size_t>(row)].emplace_back(PQgetvalue(result, row, column));
    return rows;
}

std::string PostgresqlPerson::word(std::string const& sql, std::vector<std::string> const& values)
{
    auto const rows = ask(sql, values);
    return rows.empty() || rows[0].empty() ? std::string() : rows[0][0];
}

std::string PostgresqlPerson::code_of(std::string const& sql, std::vector<std::string> const& values)
{
    try {
        ask(sql, values);
        return {};
    } catch (std::runtime_error const& error) {
        return std::string(error.what()).substr(0, 5);
    }
}

void PostgresqlPerson::leave_between(std::string const& first, std::vector<std::string> const& second)
{
    auto* const pg = connection_->pg;
    auto const put = [pg](std::string const& sql) {
        return PQsendQueryParams(pg, sql.c_str(), 0, nullptr, nullptr, nullptr, nullptr, 0) == 1;
    };
    bool const sent = PQenterPipelineMode(pg) == 1 && put(first) && PQpipelineSync(pg) == 1 &&
                      std::ranges::all_of(second, put) && PQpipelineSync(pg) == 1;
    if (!sent)
        throw std::runtime_error(PQerrorMessage(pg));
    for (auto status = PGRES_EMPTY_QUERY; status != PGRES_PIPELINE_SYNC;) {
        auto* const result = PQgetResult(pg);
        status = PQresultStatus(result);
        PQclear(result);
        if (PQstatus(pg) == CONNECTION_BAD)
            throw std::runtime_error(PQerrorMessage(pg));
    }
    PQfinish(std::exchange(connection_->pg, nullptr));
}

// -- the server --

void give_to_servers(std::string const& path)
{
    if (::geteuid() == 0 && ::chown(path.c_str(), nobody, nobody) != 0)
        throw std::system_error(errno, std::generic_category(), "chown " + path);
}

PostgresqlServer::PostgresqlServer(PostgresqlOptions options)
    : ServerProcess(options.place)
    , options_(std::move(options))
{
    prepare();
    run({postgresql_program("initdb"), "--pgdata=" + directory_.file("data"), "--username=postgres", "--auth=trust",
         "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync"},
        directory_.file("initdb.log"));
    start();
}

PostgresqlServer::PostgresqlServer(PostgresqlServer const& primary, PostgresqlOptions options)
    : ServerProcess(options.place)
    , options_(std::move(options))
{
    prepare();
    follow(primary);
}

PostgresqlServer::~PostgresqlServer()
{
    process_.reset();
    if (mounted_)
        ::umount2(directory_.file("data").c_str(), MNT_DETACH);
}

void PostgresqlServer::prepare()
{
    give_to_servers(directory_.path());
    for (auto const* const one :
         {"listen_addresses=127.0.0.1", "max_connections=200", "shared_buffers=32MB", "autovacuum_naptime=10s"})
        options_.settings.emplace_back(one);
    options_.settings.push_back("unix_socket_directories=" + directory_.path());
    if (options_.disk.empty() || ::geteuid() != 0)
        return;
    auto const data = directory_.file("data");
    auto const owner = std::to_string(nobody);
    auto const how = "mode=0700,uid=" + owner + ",gid=" + owner + ",size=" + options_.disk;
    std::filesystem::create_directory(data);
    mounted_ = ::mount("tmpfs", data.c_str(), "tmpfs", 0, how.c_str()) == 0;
    if (!mounted_)
        std::filesystem::remove(data);
}

void PostgresqlServer::follow(PostgresqlServer const& primary)
{
    if (process_)
        kill();
    auto const data = directory_.file("data");
    if (std::filesystem::exists(data))
        for (auto const& entry : std::filesystem::directory_iterator(data))
            std::filesystem::remove_all(entry.path());
    auto const from = "host=127.0.0.1 user=postgres application_name=standby port=" + std::to_string(primary.port());
    run({postgresql_program("pg_basebackup"), "--pgdata=" + data, "--dbname=" + from, "--write-recovery-conf",
         "--checkpoint=fast", "--no-sync"},
        directory_.file("basebackup.log"));
    start();
    PostgresqlPerson person(primary.port());
    if (!eventually(
            [&] { return person.word("SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'") != "0"; },
            30s))
        throw std::runtime_error("the standby does not follow:\n" + log());
}

bool PostgresqlServer::launch()
{
    auto const before = log().size();
    std::vector<std::string> arguments{
        postgresql_program("postgres"), "-D", directory_.file("data"), "-p", std::to_string(port_)};
    for (auto const& setting : options_.settings)
        arguments.insert(arguments.end(), {"-c", setting});
    process_.emplace(Command{as_other_user(std::move(arguments)), options_.environment, directory_.file("server.log")});
    auto const serves = [&] {
        return !process_->running() || log().find("ready to accept", before) != std::string::npos;
    };
    if (eventually(serves, 60s, 20ms) && process_->running())
        return true;
    process_.reset();
    return false;
}

void PostgresqlServer::start()
{
    bool const fixed = port_ != 0;
    // another process may take the free port, and processes of the last run may need a moment to end
    for (int attempt = 0; attempt < 20; ++attempt) {
        if (!fixed)
            port_ = free_port();
        if (launch())
            return;
        std::this_thread::sleep_for(100ms);
    }
    throw std::runtime_error("PostgreSQL did not start:\n" + log());
}

std::string PostgresqlServer::url() const
{
    return "postgresql://postgres@127.0.0.1:" + std::to_string(port_) + "/postgres?create=true";
}

void PostgresqlServer::crash()
{
    process_->signal(SIGQUIT);
    process_->wait_for(30s);
    process_.reset();
}

void PostgresqlServer::signal_all(int number)
{
    std::ifstream children("/proc/" + std::to_string(pid()) + "/task/" + std::to_string(pid()) + "/children");
    for (pid_t child = 0; children >> child;)
        ::kill(child, number);
}

double PostgresqlServer::cpu_seconds() const
{
    std::vector<pid_t> all{pid()};
    std::ifstream children("/proc/" + std::to_string(pid()) + "/task/" + std::to_string(pid()) + "/children");
    for (pid_t child = 0; children >> child;)
        all.push_back(child);
    double ticks = 0;
    for (auto const process : all) {
        std::ifstream file("/proc/" + std::to_string(process) + "/stat");
        std::string skipped;
        // after 13 values: user, system, and both of those that have ended
        for (int i = 0; i < 13; ++i)
            file >> skipped;
        for (double value = 0; auto const i : {0, 1, 2, 3})
            ticks += file >> value && (i < 2 || process == pid()) ? value : 0;
    }
    return ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

void PostgresqlServer::kill()
{
    // the first process is stopped, so that it starts no others
    process_->pause();
    signal_all(SIGKILL);
    ServerProcess::kill();
}

void PostgresqlServer::pause()
{
    ServerProcess::pause();
    signal_all(SIGSTOP);
}

void PostgresqlServer::resume()
{
    signal_all(SIGCONT);
    ServerProcess::resume();
}

void PostgresqlServer::fill_disk()
{
    std::ofstream file(directory_.file("data/filling"));
    std::string const block(1UL << 20U, 'x');
    while (file.write(block.data(), static_cast<std::streamsize>(block.size())).flush())
        ;
}

void PostgresqlServer::free_disk()
{
    std::filesystem::remove(directory_.file("data/filling"));
}

void PostgresqlServer::promote()
{
    PostgresqlPerson(port_).ask("SELECT pg_promote()");
}

// -- the pooler --

PgBouncer::PgBouncer(std::uint16_t server_port)
    : ServerProcess(ScratchDirectory::Place::memory)
{
    give_to_servers(directory_.path());
    port_ = free_port();
    std::ofstream(directory_.file("users.txt")) << "\"postgres\" \"\"\n";
    std::ofstream(directory_.file("pgbouncer.ini"))
        << "[databases]\n* = host=127.0.0.1 port=" << server_port << "\n[pgbouncer]\nlisten_addr = 127.0.0.1\n"
        << "listen_port = " << port_
        << "\nunix_socket_dir =\nauth_type = trust\nauth_file = " << directory_.file("users.txt")
        << "\npool_mode = transaction\nmax_client_conn = 500\ndefault_pool_size = 20\n"
        << "admin_users = postgres\n";
    start();
}

void PgBouncer::start()
{
    process_.emplace(Command{
        as_other_user(
            {find_program("pgbouncer").empty() ? "/usr/sbin/pgbouncer" : "pgbouncer",
             directory_.file("pgbouncer.ini")}),
        {},
        directory_.file("pgbouncer.log")});
    auto const serves = [this] {
        try {
            PostgresqlPerson(port_).word("SELECT 1");
            return true;
        } catch (std::exception const&) {
            return false;
        }
    };
    if (!eventually(serves, 20s, 50ms))
        throw std::runtime_error("PgBouncer did not start:\n" + directory_.text_of("pgbouncer.log"));
}

std::string PgBouncer::url() const
{
    return "postgresql://postgres@127.0.0.1:" + std::to_string(port_) + "/postgres?create=true";
}

std::string missing_postgresql()
{
    return postgresql_program("initdb").empty() ? "PostgreSQL is not installed" : "";
}

std::string missing_pgbouncer()
{
    if (auto missing = missing_postgresql(); !missing.empty())
        return missing;
    return find_program("pgbouncer").empty() && !std::filesystem::exists("/usr/sbin/pgbouncer")
               ? "PgBouncer is not installed"
               : "";
}

void require_postgresql()
{
    if (auto const missing = missing_postgresql(); !missing.empty())
        SKIP(missing);
}

void require_pgbouncer()
{
    if (auto const missing = missing_pgbouncer(); !missing.empty())
        SKIP(missing);
}

} // namespace tenure::test
