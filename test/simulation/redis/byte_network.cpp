// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "byte_network.hpp"

#include "../world.hpp"

#include <boost/asio/error.hpp>

#include <algorithm>
#include <utility>

namespace tenure::simulation
{

namespace
{

/// a piece that was lost is sent again so much later
constexpr Ns shortest_retransmission = 200 * millisecond;
constexpr Ns longest_retransmission = 400 * millisecond;
/// a refused attempt to connect is repeated
constexpr Ns dial_again = 300 * millisecond;
/// how often a full buffer is looked at
constexpr Ns buffer_looked_at = 20 * millisecond;
/// of one `read`
constexpr std::size_t largest_read = std::size_t{16} * 1024;

} // namespace

void ByteNetwork::begin(std::uint64_t seed, Noise const& noise)
{
    Network::begin(seed, noise);
    connections_.clear();
    cuts_transaction_ = {};
}

bool ByteNetwork::is_late(Connection const& connection) const noexcept
{
    if (connection.socket == nullptr || connection.silent || connection.failure)
        return false;
    auto const since = [&](Ns sent) { return world().now() - sent > ordinary_delay; };
    if (connection.dialing)
        return since(connection.dialed);
    auto const& up = connection.up.under_way;
    auto const& down = connection.down.under_way;
    return (!up.empty() && since(up.front().sent)) || (!down.empty() && since(down.front().sent));
}

bool ByteNetwork::troubled(ProcessId process) const noexcept
{
    return Network::troubled(process) ||
           std::ranges::any_of(
               connections_,
               [&](Connection const& connection) {
                   return connection.process == process && (is_late(connection) || hangs_in_login(connection));
               }) ||
           two_fell_silent(process);
}

bool ByteNetwork::two_fell_silent(ProcessId process) const noexcept
{
    // a pair of connections is replaced by another one only so often
    constexpr Ns pause = 1300 * millisecond;
    auto const is_silent = [process](Connection const& connection) {
        return connection.process == process && connection.silent && connection.socket != nullptr;
    };
    return std::ranges::count_if(connections_, is_silent) > 1 &&
           std::ranges::any_of(connections_, [&](Connection const& connection) {
               return is_silent(connection) && world().now() - connection.silent_since < pause;
           });
}

bool ByteNetwork::hangs_in_login(Connection const& connection) noexcept
{
    // users say how long that may take, and it may be longer than their leases last
    return connection.silent && !connection.at_work && connection.socket != nullptr;
}

bool ByteNetwork::blocked(Connection const& connection, bool up) const noexcept
{
    auto const& channel = path(connection.process);
    return connection.silent || (up ? channel.mute : channel.deaf);
}

// -- bytes on their way --

void ByteNetwork::enqueue(ConnectionId id, bool up, Segment segment)
{
    auto& channel = up ? at(id).up : at(id).down;
    auto wait = delay();
    if (loses_one())
        wait += random_.between(shortest_retransmission, longest_retransmission);
    if (wait > ordinary_delay)
        trouble(at(id).process);
    segment.sent = world().now();
    segment.arrives = world().now() + wait;
    if (!channel.under_way.empty()) {
        // in order; what leaves together often comes together
        auto const last = channel.under_way.back().arrives;
        segment.arrives = random_.below(2) == 0 ? last : std::max(last, segment.arrives);
    }
    channel.put += segment.bytes.size();
    channel.under_way.push_back(std::move(segment));
    if (!channel.armed && !channel.stuck)
        arm(id, up, channel.under_way.front().arrives);
}

void ByteNetwork::arm(ConnectionId id, bool up, Ns when)
{
    (up ? at(id).up : at(id).down).armed = true;
    world().scheduler.at(when, *this, up ? up_arrives : down_arrives, id);
}

void ByteNetwork::put(ConnectionId id, bool up, std::string_view bytes)
{
    auto& connection = at(id);
    if ((up ? connection.up : connection.down).ended)
        return;
    if (up && !bytes.empty())
        connection.marks.push_back({connection.up.put + bytes.size(), world().now()});
    while (!bytes.empty()) {
        // mostly whole, and now and then in pieces that respect nothing
        auto size = bytes.size();
        if (size > 1 && random_.below(4) == 0)
            size = 1 + random_.below(static_cast<std::uint32_t>(std::min<std::size_t>(size, 64)));
        enqueue(id, up, {std::string(bytes.substr(0, size)), 0, 0, false});
        bytes.remove_prefix(size);
    }
}

void ByteNetwork::put_end(ConnectionId id, bool up)
{
    auto& channel = up ? at(id).up : at(id).down;
    if (std::exchange(channel.ended, true))
        return;
    enqueue(id, up, {{}, 0, 0, true});
}

void ByteNetwork::arrives(ConnectionId id, bool up)
{
    auto& connection = at(id);
    auto& channel = up ? connection.up : connection.down;
    channel.armed = false;
    if (channel.under_way.empty())
        return;
    if (blocked(connection, up)) {
        channel.stuck = true;
        if (!connection.silent)
            trouble(connection.process);
        return;
    }
    auto const segment = std::move(channel.under_way.front());
    channel.under_way.pop_front();
    channel.arrived += segment.bytes.size();
    if (world().now() - segment.sent > ordinary_delay)
        trouble(connection.process);
    if (!channel.under_way.empty())
        arm(id, up, channel.under_way.front().arrives);
    if (up) {
        at_server(id, segment.bytes, segment.end);
    } else if (connection.socket != nullptr) {
        connection.inbox += segment.bytes;
        if (segment.end && !connection.failure)
            connection.failure = boost::asio::error::eof;
        connection.socket->readable();
    }
}

void ByteNetwork::at_server(ConnectionId id, std::string_view bytes, bool end)
{
    auto& connection = at(id);
    if (!connection.served)
        return;
    if (paused_) {
        connection.waiting += bytes;
        connection.waiting_end = connection.waiting_end || end;
        return;
    }
    if (!bytes.empty())
        server_->received(id, bytes);
    if (end && std::exchange(connection.served, false))
        server_->closed(id);
}

// -- for processes --

ConnectionId ByteNetwork::dial(Socket& socket, ProcessId process, std::uint32_t life)
{
    auto& connection = connections_.emplace_back();
    connection.process = process;
    connection.dialed = world().now();
    connection.life = life;
    connection.socket = &socket;
    auto const id = static_cast<ConnectionId>(connections_.size());
    world().scheduler.at(world().now() + delay() + delay(), *this, dial_arrives, id);
    return id;
}

void ByteNetwork::dial_ends(ConnectionId id)
{
    auto& connection = at(id);
    if (connection.socket == nullptr || !connection.dialing)
        return;
    if (blocked(connection, true) || blocked(connection, false)) {
        trouble(connection.process);
        world().scheduler.at(world().now() + dial_again, *this, dial_arrives, id);
        return;
    }
    connection.dialing = false;
    trouble(connection.process);
    if (away_) {
        connection.socket->dialed(boost::asio::error::connection_refused);
        return;
    }
    connection.served = true;
    server_->opened(id, connection.process, connection.life);
    world().chronicle.write(Note::connects, connection.process, 0, 0, id);
    connection.socket->dialed({});
}

std::size_t ByteNetwork::send_now(ConnectionId id, std::string_view bytes)
{
    auto& connection = at(id);
    if (connection.failure || connection.dialing)
        return 0;
    auto const kind = random_.below(connection.up.stuck ? 3 : 10);
    auto const taken = kind == 0   ? 0
                       : kind == 1 ? random_.below(static_cast<std::uint32_t>(bytes.size()))
                                   : bytes.size();
    put(id, true, bytes.substr(0, taken));
    return taken;
}

void ByteNetwork::send(ConnectionId id, std::string_view bytes)
{
    auto& connection = at(id);
    connection.rest = bytes;
    // the caller counts its time from here on, whenever the buffer takes them
    connection.marks.push_back({connection.up.put + bytes.size(), world().now()});
    world().scheduler.at(
        world().now() + (connection.failure ? 0 : random_.between(0, 5 * millisecond)), *this, drains, id);
}

void ByteNetwork::drained(ConnectionId id)
{
    auto& connection = at(id);
    auto const rest = std::exchange(connection.rest, {});
    if (connection.socket == nullptr || rest.empty())
        return;
    if (!connection.failure && blocked(connection, true)) {
        // the buffer stays full while nothing gets through
        connection.rest = rest;
        world().scheduler.at(world().now() + buffer_looked_at, *this, drains, id);
        return;
    }
    if (!connection.failure) {
        put(id, true, rest);
        connection.socket->sent({}, rest.size());
        return;
    }
    connection.socket->sent(connection.failure, 0);
}

std::string ByteNetwork::take(ConnectionId id, error_code& error)
{
    auto& connection = at(id);
    if (connection.inbox.empty()) {
        error = connection.failure;
        return {};
    }
    auto size = std::min(connection.inbox.size(), largest_read);
    if (size > 1 && random_.below(8) == 0)
        size = 1 + random_.below(static_cast<std::uint32_t>(size - 1));
    auto bytes = connection.inbox.substr(0, size);
    connection.inbox.erase(0, size);
    return bytes;
}

void ByteNetwork::seen(ConnectionId id, std::size_t bytes)
{
    auto& connection = at(id);
    connection.seen += bytes;
    auto& process = world().process(connection.process);
    for (; !connection.deliveries.empty() && connection.deliveries.front().end <= connection.seen;
         connection.deliveries.pop_front())
        for (auto const& effect : connection.deliveries.front().effects)
            if (effect.kind == Effect::Kind::held)
                // fencing tokens are the server's own affair (TokenBook)
                world().checker.justify(effect.owner, process.instant_at(effect.written), effect.ttl, 0);
            else if (effect.kind == Effect::Kind::hint && process.access().listens(effect.range))
                world().checker.hinted(process, effect.range);
            else if (effect.kind == Effect::Kind::others_named && process.access().listens(effect.range))
                world().checker.others_named(process, effect.range, Checker::NamedBy::another);
            else if (effect.kind == Effect::Kind::named_another)
                world().checker.release_named_another(effect.owner);
            else if (effect.kind == Effect::Kind::unknown_script)
                world().checker.told_unknown_script(process, effect.owner, effect.written);
            else if (effect.kind == Effect::Kind::another_trip)
                world().checker.slowed(process);
            else if (effect.kind == Effect::Kind::login)
                // clients that waited for a connection may continue from here
                trouble(connection.process);
}

void ByteNetwork::cut_short(ConnectionId id)
{
    auto& channel = at(id).up;
    if (channel.ended)
        return;
    // up to any byte that is on its way
    std::uint64_t bytes = 0;
    for (auto const& segment : channel.under_way)
        bytes += segment.bytes.size();
    auto left = random_.below(2) == 0 ? bytes : random_.below(static_cast<std::uint32_t>(bytes + 1));
    for (auto segment = channel.under_way.begin(); segment != channel.under_way.end(); ++segment) {
        segment->bytes.resize(std::min<std::size_t>(segment->bytes.size(), left));
        left -= segment->bytes.size();
    }
}

void ByteNetwork::close(ConnectionId id) noexcept
{
    auto& connection = at(id);
    // until now: what is late was under way when it was given up
    if (hangs_in_login(connection) || is_late(connection))
        trouble(connection.process);
    if (std::exchange(connection.socket, nullptr) == nullptr)
        return;
    connection.rest.clear();
    connection.inbox.clear();
    connection.deliveries.clear();
    if (connection.dialing)
        return;
    cut_short(id);
    put_end(id, true);
}

void ByteNetwork::break_off(ConnectionId id)
{
    auto& connection = at(id);
    if (connection.socket == nullptr || connection.failure)
        return;
    world().chronicle.write(Note::disconnects, connection.process, 0, 0, id);
    trouble(connection.process);
    if (connection.dialing) {
        connection.dialing = false;
        connection.socket->dialed(boost::asio::error::connection_reset);
        return;
    }
    // a write under way may have got some of its bytes out
    std::size_t taken = 0;
    bool const writes = !connection.rest.empty();
    if (writes) {
        taken = random_.below(static_cast<std::uint32_t>(connection.rest.size() + 1));
        put(id, true, std::string_view(connection.rest).substr(0, taken));
        connection.rest.clear();
    }
    connection.failure = boost::asio::error::connection_reset;
    connection.down.under_way.clear();
    if (random_.below(2) == 0)
        connection.inbox.clear();
    cut_short(id);
    put_end(id, true);
    bool const read_first = random_.below(2) == 0;
    if (read_first)
        connection.socket->readable();
    if (writes && connection.socket != nullptr)
        connection.socket->sent(connection.failure, taken);
    if (!read_first && connection.socket != nullptr)
        connection.socket->readable();
}

void ByteNetwork::cut(ProcessId process)
{
    for (ConnectionId id = 1; id <= connections_.size(); ++id)
        if (at(id).process == process)
            break_off(id);
}

bool ByteNetwork::is_open(ProcessId process) const noexcept
{
    return std::ranges::any_of(connections_, [process](Connection const& connection) {
        return connection.process == process && connection.socket != nullptr;
    });
}

void ByteNetwork::close_all(ProcessId process) noexcept
{
    for (ConnectionId id = 1; id <= connections_.size(); ++id)
        if (at(id).process == process)
            close(id);
}

// -- for the server --

void ByteNetwork::reply(ConnectionId id, std::string_view bytes, Effects effects)
{
    auto& connection = at(id);
    if (!connection.served || connection.socket == nullptr || connection.failure || connection.down.ended)
        return;
    put(id, false, bytes);
    if (!effects.empty())
        connection.deliveries.push_back({connection.down.put, std::move(effects)});
}

Ns ByteNetwork::written_at(ConnectionId id, std::uint64_t place)
{
    auto& marks = at(id).marks;
    while (marks.size() > 1 && marks.front().end <= place)
        marks.pop_front();
    return marks.front().when;
}

bool ByteNetwork::abandoned(ConnectionId id) const noexcept
{
    auto const& connection = at(id);
    return connection.socket == nullptr || static_cast<bool>(connection.failure);
}

void ByteNetwork::hang_up(ConnectionId id)
{
    auto& connection = at(id);
    if (!std::exchange(connection.served, false))
        return;
    trouble(connection.process);
    server_->closed(id);
    put_end(id, false);
}

bool ByteNetwork::breaks_within_transaction(ConnectionId id)
{
    auto& connection = at(id);
    if (!std::exchange(cuts_transaction_.at(connection.process), false))
        return false;
    connection.served = false;
    break_off(id);
    return true;
}

void ByteNetwork::server_is_gone()
{
    for (ConnectionId id = 1; id <= connections_.size(); ++id) {
        auto& connection = at(id);
        connection.waiting.clear();
        connection.waiting_end = false;
        connection.served = false;
    }
    server_->gone();
}

// -- what happens to it --

void ByteNetwork::set_path(ProcessId process, bool mute, bool deaf)
{
    Network::set_path(process, mute, deaf);
    unblock(process);
}

void ByteNetwork::unblock(ProcessId process)
{
    for (ConnectionId id = 1; id <= connections_.size(); ++id) {
        auto& connection = at(id);
        if (connection.process != process)
            continue;
        for (bool const up : {true, false}) {
            auto& channel = up ? connection.up : connection.down;
            if (!channel.stuck || blocked(connection, up))
                continue;
            channel.stuck = false;
            if (random_.below(4) == 0)
                break_off(id);
            if (!channel.under_way.empty() && !channel.armed)
                arm(id, up, world().now() + random_.between(0, longest_retransmission));
        }
    }
}

void ByteNetwork::store_stops(bool away)
{
    Network::store_stops(away);
    if (away)
        server_is_gone();
}

void ByteNetwork::store_goes_on()
{
    Network::store_goes_on();
    for (ConnectionId id = 1; id <= connections_.size(); ++id) {
        auto& connection = at(id);
        auto const bytes = std::exchange(connection.waiting, {});
        bool const end = std::exchange(connection.waiting_end, false);
        if (!bytes.empty() || end)
            at_server(id, bytes, end);
    }
}

void ByteNetwork::fall_silent(ProcessId process)
{
    std::vector<ConnectionId> open;
    for (ConnectionId id = 1; id <= connections_.size(); ++id)
        if (at(id).process == process && at(id).socket != nullptr && !at(id).dialing && !at(id).silent)
            open.push_back(id);
    if (open.empty())
        return;
    trouble(process);
    auto& struck = at(open[random_.below(static_cast<std::uint32_t>(open.size()))]);
    struck.silent = true;
    struck.silent_since = world().now();
}

void ByteNetwork::strike(Fault const& fault)
{
    if (fault.kind == FaultKind::silence)
        fall_silent(fault.process);
    else if (fault.kind == FaultKind::transaction_cut)
        cuts_transaction_.at(fault.process) = true;
    else if (fault.kind == FaultKind::hang_up)
        for (ConnectionId id = 1; id <= connections_.size(); ++id)
            if (at(id).process == fault.process)
                hang_up(id);
}

void ByteNetwork::calm_down() noexcept
{
    Network::calm_down();
    cuts_transaction_ = {};
}

void ByteNetwork::on_event(std::uint32_t what, std::uint64_t value)
{
    auto const id = static_cast<ConnectionId>(value);
    switch (what) {
    case dial_arrives:
        dial_ends(id);
        break;
    case up_arrives:
        arrives(id, true);
        break;
    case down_arrives:
        arrives(id, false);
        break;
    default:
        drained(id);
    }
}

} // namespace tenure::simulation
