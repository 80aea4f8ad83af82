// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "known_store.hpp"
#include "message.hpp"
#include "network.hpp"

#include <array>
#include <cstdint>
#include <vector>

namespace tenure::simulation
{

class Link;
class Server;

/** Carries requests to the store and answers back: each with a delay of its own, so that they overtake each other, and
 *  some of them not at all, or twice. */
class MessageNetwork final : public Network
{
public:
    using Network::Network;

    /** The server that gets the requests. */
    void serve(Server& server) noexcept { server_ = &server; }
    void attach(ProcessId process, Link& link) noexcept { links_[process] = &link; }

    void begin(std::uint64_t seed, Noise const& noise) override;
    void store_goes_on() override;

    void send(Message const& message);

    /** Notifies all subscribers of the range that one of its keys was released. @param named  the place whose turn it
     * is; null: the line was empty */
    void publish(RangeId range, KnownStore::Place const* named);

    void on_event(std::uint32_t what, std::uint64_t value) override;

private:
    enum What : std::uint32_t { at_store, back, hint };

    [[nodiscard]] std::uint32_t keep(Message const& message);
    [[nodiscard]] Link& link(ProcessId process) noexcept { return *links_[process]; }
    void lose(Message const& message);
    void arrive_at_store(std::uint32_t slot);
    void arrive_back(std::uint32_t slot);
    void drop_slot(std::uint32_t slot) { unused_.push_back(slot); }

    Server* server_ = nullptr;
    std::array<Link*, most_processes> links_{};
    /// messages under way
    std::vector<Message> messages_;
    std::vector<std::uint32_t> unused_;
    /// the messages that have arrived at a paused store
    std::vector<std::uint32_t> waiting_;
};

} // namespace tenure::simulation
