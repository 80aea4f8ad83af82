// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/cancellation_token.hpp>
#include <tenure/detail/handler_memory.hpp>
#include <tenure/detail/on_cancel.hpp>

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/associator.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/deferred.hpp>

#include <memory>
#include <type_traits>
#include <utility>

namespace tenure
{

/** A completion token that runs any Asio operation under a cancellation token; made by `cancel_on`. */
template <class CompletionToken>
class CancelOn
{
public:
    /** Use `cancel_on`. */
    CancelOn(CancellationToken cancels, CompletionToken completes)
        : cancellation(std::move(cancels))
        , completion(std::move(completes))
    {
    }

    /// cancels the operation
    CancellationToken cancellation;
    /// receives its result
    CompletionToken completion;
};

/** Runs an Asio operation under a cancellation token: `co_await socket.async_read_some(buffer,
 * cancel_on(slot.token()))`.
 *
 *  Cancelling the token cancels the operation (terminal), which then completes as on any cancellation, usually with
 *  operation_aborted. The caller's own cancellation still works.
 *
 *  @par Thread safety  The cancellation is emitted on the handler's associated executor: with several threads that must
 * be a strand, as for every cancellation in Asio.
 */
template <class CompletionToken = boost::asio::deferred_t>
[[nodiscard]] auto cancel_on(CancellationToken cancellation, CompletionToken&& completion = {})
{
    return CancelOn<std::decay_t<CompletionToken>>(std::move(cancellation), std::forward<CompletionToken>(completion));
}

namespace detail
{

/** Two signals: one cancels the operation when the token is cancelled, the other ends the wait for the token when the
 * operation is done. */
struct CancelOnLink {
    boost::asio::cancellation_signal cancel_operation;
    boost::asio::cancellation_signal stop_waiting;
};

/** The operation's handler; its cancellation slot is the link's. */
template <class Handler>
class CancelOnHandler
{
public:
    using cancellation_slot_type = boost::asio::cancellation_slot;

    CancelOnHandler(Handler wrapped, std::shared_ptr<CancelOnLink> link)
        : handler(std::move(wrapped))
        , link_(std::move(link))
    {
    }

    [[nodiscard]] cancellation_slot_type get_cancellation_slot() const noexcept
    {
        return link_->cancel_operation.slot();
    }

    template <class... Results>
    void operator()(Results&&... results)
    {
        if (auto slot = boost::asio::get_associated_cancellation_slot(handler); slot.is_connected())
            slot.clear();
        // the link ends with this statement, because the handler's allocator may end with the handler
        std::exchange(link_, nullptr)->stop_waiting.emit(boost::asio::cancellation_type::terminal);
        std::move(handler)(std::forward<Results>(results)...);
    }

    Handler handler;

private:
    std::shared_ptr<CancelOnLink> link_;
};

template <class Initiation>
class InitiateCancelOn
{
public:
    InitiateCancelOn(Initiation initiation, CancellationToken cancellation)
        : initiation_(std::move(initiation))
        , cancellation_(std::move(cancellation))
    {
    }

    template <class Handler, class... Arguments>
    void operator()(Handler&& handler, Arguments&&... arguments)
    {
        auto link = make_in_handler_memory<CancelOnLink>(handler);
        auto const weak = std::weak_ptr(link);
        auto cancel = [weak](boost::asio::cancellation_type type) {
            if (auto alive = weak.lock())
                alive->cancel_operation.emit(type);
        };
        on_cancel(boost::asio::get_associated_cancellation_slot(handler), every_cancellation, std::move(cancel));
        // a handler without an executor is called on the operation's, as a rule
        auto executor = boost::asio::get_associated_executor(
            handler, boost::asio::get_associated_executor(initiation_, cancellation_.get_executor()));
        std::move(initiation_)(
            CancelOnHandler<std::decay_t<Handler>>(std::forward<Handler>(handler), std::move(link)),
            std::forward<Arguments>(arguments)...);
        // the operation may have completed at once
        link = weak.lock();
        if (!link)
            return;
        cancellation_.async_wait(boost::asio::bind_cancellation_slot(
            link->stop_waiting.slot(), boost::asio::bind_executor(executor, [weak](error_code error) {
                if (auto alive = weak.lock(); alive && !error)
                    alive->cancel_operation.emit(boost::asio::cancellation_type::terminal);
            })));
    }

private:
    Initiation initiation_;
    CancellationToken cancellation_;
};

} // namespace detail
} // namespace tenure

// Specialisations for Asio, which users never name.
/// @cond

template <class CompletionToken, class... Signatures>
struct boost::asio::async_result<tenure::CancelOn<CompletionToken>, Signatures...> {
    template <class Initiation, class Token, class... Arguments>
    static auto initiate(Initiation&& initiation, Token&& both, Arguments&&... arguments)
    {
        return async_initiate<CompletionToken, Signatures...>(
            tenure::detail::InitiateCancelOn<std::decay_t<Initiation>>(
                std::forward<Initiation>(initiation), both.cancellation),
            both.completion, std::forward<Arguments>(arguments)...);
    }
};

template <template <class, class> class Associator, class Handler, class DefaultCandidate>
struct boost::asio::associator<Associator, tenure::detail::CancelOnHandler<Handler>, DefaultCandidate>
    : Associator<Handler, DefaultCandidate> {
    static auto get(tenure::detail::CancelOnHandler<Handler> const& handler) noexcept
    {
        return Associator<Handler, DefaultCandidate>::get(handler.handler);
    }
    static auto get(tenure::detail::CancelOnHandler<Handler> const& handler, DefaultCandidate const& candidate) noexcept
    {
        return Associator<Handler, DefaultCandidate>::get(handler.handler, candidate);
    }
};
/// @endcond
