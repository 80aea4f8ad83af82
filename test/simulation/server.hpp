// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "known_store.hpp"
#include "message.hpp"

#include <cstdint>

namespace tenure::simulation
{

class MessageNetwork;

/** The store of the engine's own layer, which executes a request in one step, as Redis executes a script. */
class Server final : public KnownStore
{
public:
    Server(World& world, MessageNetwork& network) noexcept
        : KnownStore(world)
        , network_(network)
    {
    }

    /** Executes the request, and writes its answer into it. */
    void execute(Message& message, bool late);

private:
    [[nodiscard]] std::uint64_t next_token(Key& key, KeyId id);
    void claim(Message& message, bool late);
    void grant(Message& message, std::uint8_t index, bool late);
    void extend(Message& message, KeyId id, bool late);
    bool free(KeyId id, Message const& message);

    MessageNetwork& network_;
};

} // namespace tenure::simulation
