// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "stream_dial.hpp"
#include "stream_kinds.hpp"
#include "stream_socket.hpp"
#include "system_limits.hpp"

#include <tenure/errc.hpp>

#include <boost/asio/ip/address.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/ssl/stream.hpp>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <optional>
#include <utility>

namespace tenure::net
{

namespace
{

namespace ssl = asio::ssl;

StreamError tls_failure(std::string detail)
{
    return {make_error_code(errc::tls_failed), std::move(detail), true};
}

/** For errors that a lack of descriptors may have caused: OpenSSL reads certificates from files. */
StreamError unless_no_descriptor_is_left(StreamError failure)
{
    if (auto const limit = lack_of_descriptors())
        return {limit, failure.detail + ": " + explain_system_error(limit), false};
    return failure;
}

/** Stream over TLS, by OpenSSL. */
class TlsStream final : public SocketStream<TlsStream>
{
public:
    using Layer = ssl::stream<TcpSocket>;
    /// the number of sent bytes of a record is unknown
    static constexpr bool is_plain = false;

    TlsStream(std::shared_ptr<Runtime> runtime, std::string host, std::uint16_t port, TlsConfig tls)
        : SocketStream(std::move(runtime))
        , host_(std::move(host))
        , port_(port)
        , tls_(std::move(tls))
        , context_(ssl::context::tls_client)
    {
        if (tls_.server_name.empty())
            tls_.server_name = host_;
    }

    void connect(StreamEvents& events, Instant deadline) override
    {
        notify_to(events);
        // reads the files for each connection, so renewed certificates take effect at once
        if (auto const error = prepare_context()) {
            runtime_->post([self = shared_from_this(), error] { self->connected(error); });
            return;
        }
        dial_ = std::make_shared<TcpDial>(
            runtime_, host_, port_, deadline, [self = shared_from_this()](StreamError const& error, TcpSocket socket) {
                self->dial_.reset();
                if (error)
                    self->connected(error);
                else
                    self->shake_hands(std::move(socket));
            });
        dial_->start();
    }

    Layer& layer() noexcept { return *layer_; }

    [[nodiscard]] StreamError explain_failure(error_code error) const
    {
        if (error == ssl::error::stream_truncated)
            return {error, "the server closed the connection", false};
        // TLS 1.3: a server refuses this client's certificate after the handshake
        if (error.category() == asio::error::get_ssl_category())
            return tls_failure("TLS with " + host_ + ": " + error.message());
        return {error, {}, false};
    }

    [[nodiscard]] StreamError overdue() const override
    {
        if (!layer_)
            return {};
        // the server is paused, or does not understand the first TLS message
        return {
            make_error_code(errc::tls_failed),
            "TLS handshake with " + host_ + ": no answer in time: does the server speak TLS on port " +
                std::to_string(port_) + "?",
            false};
    }

    void close_socket() noexcept
    {
        if (auto const dial = std::exchange(dial_, nullptr))
            dial->cancel();
        if (layer_) {
            error_code ignored;
            layer_->next_layer().close(ignored);
        }
    }

private:
    StreamError prepare_context()
    {
        error_code error;
        SSL_CTX_set_min_proto_version(context_.native_handle(), TLS1_2_VERSION);
        context_.set_verify_mode(tls_.verify ? ssl::verify_peer : ssl::verify_none, error);
        if (!error && tls_.ca_file.empty()) {
            context_.set_default_verify_paths(error);
            if (error)
                return unless_no_descriptor_is_left(
                    tls_failure("the system's certificates cannot be read: " + error.message()));
        } else if (!error) {
            context_.load_verify_file(tls_.ca_file, error);
            if (error)
                return unless_no_descriptor_is_left(tls_failure("CA file " + tls_.ca_file + ": " + error.message()));
        }
        if (!error && !tls_.certificate_file.empty()) {
            context_.use_certificate_chain_file(tls_.certificate_file, error);
            if (error)
                return unless_no_descriptor_is_left(
                    tls_failure("client certificate " + tls_.certificate_file + ": " + error.message()));
            context_.use_private_key_file(tls_.key_file, ssl::context::pem, error);
            if (error)
                return unless_no_descriptor_is_left(
                    tls_failure("client key " + tls_.key_file + ": " + error.message()));
        }
        return error ? tls_failure(error.message()) : StreamError();
    }

    void shake_hands(TcpSocket socket)
    {
        if (events() == nullptr)
            return;
        layer_.emplace(std::move(socket), context_);
        if (!name_peer()) {
            connected(tls_failure("'" + tls_.server_name + "' is no name that a certificate can bear"));
            return;
        }
        auto shaken = [self = shared_from_this()](error_code error) {
            self->connected(error ? self->explain_handshake(error) : StreamError());
        };
        layer_->async_handshake(ssl::stream_base::client, asio::bind_executor(runtime_->strand(), std::move(shaken)));
    }

    /** Sets the name that the certificate must have, and requests it from the server (SNI). */
    bool name_peer()
    {
        auto* const session = layer_->native_handle();
        error_code not_numeric;
        (void)asio::ip::make_address(tls_.server_name, not_numeric);
        // OpenSSL checks the name together with the chain, so its result distinguishes the two errors
        auto* const rules = SSL_get0_param(session);
        if (!not_numeric)
            return X509_VERIFY_PARAM_set1_ip_asc(rules, tls_.server_name.c_str()) == 1;
        X509_VERIFY_PARAM_set_hostflags(rules, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
        return X509_VERIFY_PARAM_set1_host(rules, tls_.server_name.c_str(), tls_.server_name.size()) == 1 &&
               SSL_ctrl(session, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, tls_.server_name.data()) == 1;
    }

    StreamError explain_handshake(error_code error)
    {
        auto const verdict = SSL_get_verify_result(layer_->native_handle());
        if (tls_.verify && verdict != X509_V_OK)
            return unless_no_descriptor_is_left(tls_failure(
                "the certificate of " + host_ + " is refused: " + X509_verify_cert_error_string(verdict) +
                " (expected for '" + tls_.server_name + "', trusted by " +
                (tls_.ca_file.empty() ? std::string("the system's certificates") : tls_.ca_file) + ")"));
        if (error.category() == asio::error::get_ssl_category())
            return tls_failure(
                "TLS handshake with " + host_ + ": " + error.message() + ": does the server speak TLS on port " +
                std::to_string(port_) + ", and does it want a client certificate?");
        // a stopping server may come back
        return {
            make_error_code(errc::tls_failed),
            "TLS handshake with " + host_ + ": " +
                (error == asio::error::eof || error == ssl::error::stream_truncated ? "the server closed the connection"
                                                                                    : error.message()),
            false};
    }

    void connected(StreamError const& error)
    {
        if (events() != nullptr)
            events()->on_connected(error);
    }

    std::string host_;
    std::uint16_t port_;
    TlsConfig tls_;
    ssl::context context_;
    /// while connecting
    std::shared_ptr<TcpDial> dial_;
    /// empty until the socket is connected
    std::optional<Layer> layer_;
};

} // namespace

std::shared_ptr<Stream>
make_tls_stream(std::shared_ptr<Runtime> const& runtime, std::string host, std::uint16_t port, TlsConfig tls)
{
    return std::make_shared<TlsStream>(runtime, std::move(host), port, std::move(tls));
}

} // namespace tenure::net
