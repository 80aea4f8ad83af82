// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "guarded_writers.hpp"
#include "network.hpp"
#include "store_under_attack.hpp"
#include "wall_clock.hpp"

#include "harness/postgresql_server.hpp"
#include "harness/scratch_directory.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tenure::faults
{

/** A primary server with a standby that each commit waits for, each reached through three proxies; or one server behind
 * PgBouncer in transaction mode. Both have disks of their own and one wall clock. Processes write under guards all the
 * time. */
class PostgresqlUnderAttack : public StoreUnderAttack
{
public:
    explicit PostgresqlUnderAttack(Arena const& arena)
        : PostgresqlUnderAttack(arena, false)
    {
    }

    [[nodiscard]] std::string url(std::size_t worker) const override;
    [[nodiscard]] std::vector<Disturbance> disturbances() override;
    [[nodiscard]] std::optional<std::vector<KeyLook>> look() override;
    [[nodiscard]] std::int64_t expiry_delay(std::int64_t now) const override;
    [[nodiscard]] std::vector<std::string> endless_keys() override;
    void finish(Ledger& ledger, std::ostream& figures) override;

protected:
    PostgresqlUnderAttack(Arena const& arena, bool pooled);

private:
    enum class Way { kill, stop, lag };

    [[nodiscard]] test::PostgresqlServer& primary() { return *servers_[primary_]; }
    [[nodiscard]] test::PostgresqlServer& standby() { return *servers_[1 - primary_]; }
    [[nodiscard]] bool pooled() const noexcept { return pooler_ != nullptr; }
    /** Waits until it serves. */
    [[nodiscard]] static std::unique_ptr<test::PostgresqlPerson> person_at(test::PostgresqlServer const& server);
    /** By a person at the primary. */
    void tell(std::string const& sql);
    /** Each commit waits for the standby, or for none. */
    void wait_for_standby(bool waits);

    // postgresql_disturbances.cpp
    [[nodiscard]] std::vector<Disturbance> server_disturbances();
    [[nodiscard]] std::vector<Disturbance> session_disturbances();
    [[nodiscard]] std::vector<Disturbance> standby_disturbances();
    [[nodiscard]] std::vector<Disturbance> pooler_disturbances();
    bool stop(Attack& attack, bool briefly);
    bool stop_postmaster(Attack& attack);
    /** Ends the server, and starts it again after at most half a ttl. */
    bool end_for_a_while(Attack& attack, char const* name, void (test::PostgresqlServer::*end)());
    bool kill_backend(Attack& attack);
    bool fill_disk(Attack& attack);
    bool jump(Attack& attack);
    bool end_sessions(Attack& attack, std::string const& name, std::string const& function, unsigned times);
    bool hold_snapshot(Attack& attack);
    bool stop_receiver(Attack& attack, bool cancels);
    bool fail_over(Attack& attack, Way way, std::string const& name);
    bool disturb_pooler(Attack& attack, bool kills);
    /** After a jump back the last tokens lie in the future of the server's clock: a row that is lost then is the
     * documented exception to their order, and no subject here. */
    [[nodiscard]] bool tokens_are_ahead() const;

    Arena arena_;
    test::ScratchDirectory directory_;
    WallClock clock_;
    /// the second one only where there is no pooler
    std::array<std::unique_ptr<test::PostgresqlServer>, 2> servers_;
    std::unique_ptr<test::PgBouncer> pooler_;
    std::vector<std::unique_ptr<Network>> networks_;
    std::atomic<std::size_t> primary_ = 0;
    /// while another server becomes the primary
    std::atomic<bool> in_doubt_ = false;
    /// of `look`; unset while there is no connection
    std::unique_ptr<test::PostgresqlPerson> looking_;
    std::size_t looking_at_ = 0;
    /// when the wall clock jumped back last, in ns of CLOCK_BOOTTIME; 0: never
    std::atomic<std::int64_t> jumped_back_ = 0;
    /// last, because they end first
    std::optional<GuardedWriters> writers_;
};

/** The one behind PgBouncer. */
class PooledPostgresqlUnderAttack final : public PostgresqlUnderAttack
{
public:
    explicit PooledPostgresqlUnderAttack(Arena const& arena)
        : PostgresqlUnderAttack(arena, true)
    {
    }
};

} // namespace tenure::faults
