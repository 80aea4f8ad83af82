// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// MULTI, EXEC and DISCARD.
#include "server.hpp"

#include "../world.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace tenure::simulation
{

namespace
{

/** Of those that a client may send between MULTI and EXEC, the ones that are executed at once. */
bool ends_or_begins(std::string_view name)
{
    return name == "MULTI" || name == "EXEC" || name == "DISCARD";
}

} // namespace

Reply RedisServer::answer(Words const& words)
{
    auto& transaction = now_.session->transaction;
    if (auto refusal = refused(words, false)) {
        if (transaction)
            transaction->refused = true;
        return words.front() == "EXEC" ? abort(refusal->text) : std::move(*refusal);
    }
    if (!transaction || ends_or_begins(words.front()))
        return run(words);
    if (settings_.strictness == Strictness::queueing && words.front().starts_with("EVAL")) {
        transaction->refused = true;
        return Reply::error("ERR " + words.front() + " is not allowed in a transaction");
    }
    transaction->queued.push_back(words);
    return {Reply::Kind::status, "QUEUED", 0, {}};
}

bool RedisServer::queues(bool (*property)(Command const&)) const
{
    auto const& transaction = now_.session->transaction;
    return transaction && std::ranges::any_of(transaction->queued, [&](Words const& words) {
               return property(*std::ranges::find(commands(), words.front(), &Command::name));
           });
}

Reply RedisServer::abort(std::string_view because)
{
    now_.session->transaction.reset();
    if (constexpr std::string_view word = "ERR "; because.starts_with(word))
        because.remove_prefix(word.size());
    return Reply::error("EXECABORT Transaction discarded because of: " + std::string(because));
}

Reply RedisServer::multi(Words const&)
{
    auto& transaction = now_.session->transaction;
    if (transaction)
        return Reply::error("ERR MULTI calls can not be nested");
    transaction = Transaction{.queued = {}, .refused = false, .written = now_.written};
    return Reply::ok();
}

Reply RedisServer::discard(Words const&)
{
    if (!now_.session->transaction)
        return Reply::error("ERR DISCARD without MULTI");
    now_.session->transaction.reset();
    return Reply::ok();
}

Reply RedisServer::exec(Words const&)
{
    auto& session = *now_.session;
    if (!session.transaction)
        return Reply::error("ERR EXEC without MULTI");
    auto const transaction = *std::exchange(session.transaction, std::nullopt);
    if (transaction.refused)
        return Reply::error("EXECABORT Transaction discarded because of previous errors.");
    // the sender counts from its first byte
    now_.written = transaction.written;
    auto results = Reply::list(Reply::Kind::array, {});
    for (auto const& words : transaction.queued) {
        now_.words = &words;
        note_kind(session, words);
        if (settings_.strictness == Strictness::exec && words.front().starts_with("EVAL"))
            results.elements.push_back(Reply::error("ERR " + words.front() + " is not allowed in a transaction"));
        else
            results.elements.push_back(run(words));
        note_served(session, words.front());
    }
    // a draw without a granted key has no holder
    if (std::ranges::none_of(results.elements, [](Reply const& one) { return one.kind == Reply::Kind::status; }))
        std::erase_if(now_.effects, [](Effect const& effect) { return effect.kind == Effect::Kind::unknown_script; });
    return results;
}

} // namespace tenure::simulation
