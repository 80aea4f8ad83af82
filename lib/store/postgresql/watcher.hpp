// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "runtime/names.hpp"
#include "store/postgresql/link/client.hpp"

#include <net/backoff.hpp>
#include <runtime/once_per_turn.hpp>
#include <runtime/timer.hpp>
#include <store/hint_registry.hpp>
#include <tenure/backend/backend.hpp>

#include <map>

namespace tenure::postgresql
{

/** Watches of waiters, by LISTEN: on the connection of the requests, or on one to the server behind a pooler.
 *
 *  A connection is used once a notification of the store itself, sent on the way of the requests, has come back: some
 *  poolers accept LISTEN and deliver nothing. A watch is in force once its range is marked as waited for, because a
 *  release announces nothing else. Everything runs on the strand. */
class Watcher final : public std::enable_shared_from_this<Watcher>, public ConnectionOwner
{
public:
    explicit Watcher(ClientPtr client);

    void start();
    [[nodiscard]] std::unique_ptr<Watch> watch(KeyRange const& range, WatchHandler handler);
    void close() noexcept;

private:
    struct Watched {
        /// LISTEN was sent
        bool asked = false;
        bool in_force = false;
    };
    /// whether notifications arrive on `line_`
    enum class Hears { unknown, probing, yes, no };
    using Names = std::vector<std::string>;

    void on_ready(Connection&) override { use(own_); }
    void on_lost(Connection&, net::StreamError const& error) override;
    void on_notification(Connection&, std::string const& channel) override { notified(channel); }
    void begin_soon();
    void begin();
    void connect();
    void use(ConnectionPtr line);
    void probe();
    void cannot_hear(std::string const& why);
    void listen(Names const& names);
    void mark(Names const& names);
    void retry(Names const& names);
    void interrupt(std::string const& name);
    void notified(std::string const& channel);
    void refresh();
    [[nodiscard]] Names names_if(bool (*wanted)(Watched const&));

    ClientPtr client_;
    store::HintRegistry<std::string, Watched> watched_;
    net::Backoff backoff_;
    /// of `PostgresqlConfig::listen`; null: none
    ConnectionPtr own_;
    /// the ready connection that listens; null: none
    ConnectionPtr line_;
    Hears hears_ = Hears::unknown;
    std::string probe_channel_;
    /// the range of each channel of `line_`
    std::map<std::string, std::string> channels_;
    OncePerTurn begin_;
    Timer probe_limit_;
    Timer pause_;
    Timer refresh_;
    bool closed_ = false;
};

} // namespace tenure::postgresql
